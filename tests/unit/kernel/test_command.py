"""kernel.command: what a tool says becomes the error, tried on tools that the test writes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from perpkt.errors import CommandError, ToolMissing
from perpkt.kernel import command
from perpkt.kernel.command import PACKAGES, run

Tool = Callable[[str], None]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """Makes a tool called tc, first in PATH, of shell lines."""

    def make(lines: str) -> None:
        (tmp_path / "tc").write_text(f"#!/bin/sh\n{lines}\n")
        (tmp_path / "tc").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return make


def test_output(tool: Tool) -> None:
    """What a tool prints comes back as it is; what it says on standard error while it succeeds does not matter."""
    tool("echo ' one'; echo two; echo warning >&2")
    assert run(["tc"]) == " one\ntwo\n"


def test_lines_are_its_input(tool: Tool) -> None:
    """Each line reaches the tool's standard input as one line."""
    tool("cat")
    assert run(["tc", "-batch", "-"], ["qdisc show", "class show"]) == "qdisc show\nclass show\n"
    assert run(["tc"]) == ""


def test_error_has_the_tools_words(tool: Tool) -> None:
    """A failure is a CommandError with the command, its lines and what the tool said, blank lines left out."""
    tool("echo 'Error: Exclusivity flag on.' >&2; echo >&2; echo '  Command failed -:1' >&2; exit 2")
    with pytest.raises(CommandError) as caught:
        run(["tc", "-batch", "-"], ["qdisc add dev v0 ingress"])
    said = "Error: Exclusivity flag on.; Command failed -:1"
    assert str(caught.value) == f"tc -batch - [qdisc add dev v0 ingress]: {said}"
    assert caught.value.exit_code == 4


def test_error_is_one_line(tool: Tool) -> None:
    """A tool that prints a page of help leaves its first three lines, and a long batch its first three."""
    tool("for i in 1 2 3 4 5; do echo line $i >&2; done; exit 1")
    with pytest.raises(CommandError) as caught:
        run(["tc", "two words"], [str(number) for number in range(9)])
    assert str(caught.value) == "tc 'two words' [0] [1] [2]: line 1; line 2; line 3"


def test_error_without_words(tool: Tool) -> None:
    """A tool that fails and says nothing leaves its status."""
    tool("exit 3")
    with pytest.raises(CommandError, match=r"^tc: it ended with status 3$"):
        run(["tc"])


def test_killed_tool(tool: Tool) -> None:
    """A tool that a signal ended is an error too."""
    tool("kill -9 $$")
    with pytest.raises(CommandError, match="status -9"):
        run(["tc"])


@pytest.mark.parametrize(("name", "package"), list(PACKAGES.items()))
def test_missing_tool(name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that is not installed is ToolMissing, with the package that has it."""
    monkeypatch.setattr(command, "search_path", lambda: str(tmp_path))
    with pytest.raises(ToolMissing) as caught:
        run([name, "show"])
    assert caught.value.reason == f"{name} is not installed"
    assert caught.value.remedy == f"Install it: apt-get install {package}"


def test_environment(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool speaks English, takes no machine-wide lock, and has all else of this process's environment."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("SOMETHING", "else")
    tool('echo "$LC_ALL $XTABLES_LOCKFILE $SOMETHING"')
    assert run(["tc"]) == "C /dev/null else\n"


def test_sbin_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """sbin folders are looked in even where PATH has none, after what PATH has."""
    monkeypatch.setenv("PATH", "/own/bin")
    assert command.search_path().split(":") == ["/own/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"]
    monkeypatch.delenv("PATH")
    assert {"/usr/bin", "/bin", "/usr/sbin"} <= set(command.search_path().split(":"))


def test_own_process_group(tool: Tool) -> None:
    """A tool runs in a process group of its own: a Ctrl-C on the terminal does not reach it."""
    tool("cut -d' ' -f5 /proc/self/stat")
    assert int(run(["tc"])) != os.getpgrp()


def test_words_that_are_no_text() -> None:
    """A tool's bytes that are not UTF-8 are shown as well as can be."""
    with pytest.raises(CommandError, match="\ufffd bad"):
        run(["sh", "-c", "printf '\\377 bad' >&2; exit 1"])
