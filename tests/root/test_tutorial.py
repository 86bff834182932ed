"""The tutorial's commands print what the tutorial shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


def sessions() -> list[tuple[str, list[str]]]:
    """Each command of the tutorial's console blocks, and the lines that it is said to print."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", TUTORIAL.read_text(), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.strip():
                found[-1][1].append(line)
    return found


def shape(line: str) -> str:
    """A line's words: machines and minutes differ in figures, and layouts with them."""
    line = re.sub(r"\b(Linux|kernel) \S+", r"\1", line)
    line = re.sub(r"[-+=±\[(]*\d[^\s]*", " ", line)
    return " ".join(line.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands run, one after the other."""
    return tmp_path_factory.mktemp("tutorial")


@pytest.mark.parametrize(("command", "shown"), sessions(), ids=[command for command, _ in sessions()])
def test_a_command_prints_what_is_shown(command: str, shown: list[str], folder: Path) -> None:
    """Every line shown (but for figures, and `...`) is a line that the command prints."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    printed = {shape(line) for line in (done.stdout + done.stderr).splitlines()}
    assert [line for line in shown if line.strip() != "..." and shape(line) not in printed] == []
