"""The program, and the state of the host that it must not change."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from perpkt.kernel import netns

PERPKT = [sys.executable, "-m", "perpkt"]


def perpkt(*words: str, timeout: float = 120, **options: str) -> subprocess.CompletedProcess[str]:
    """Run the program to its end; `options` are environment variables."""
    environment = {**os.environ, **options}
    return subprocess.run(
        [*PERPKT, *words], capture_output=True, text=True, timeout=timeout, env=environment, check=False
    )


def _output(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def _text(path: Path) -> str:
    # some sysctls can only be written, or hold no value yet
    try:
        return path.read_text()
    except OSError as error:
        return str(error.errno)


def host_state() -> dict[str, str]:
    """All of the host's own that perpkt must leave as it is."""
    sysctls = {str(path): _text(path) for path in sorted(Path("/proc/sys/net").rglob("*")) if path.is_file()}
    return {
        "links": _output("ip", "-o", "link"),
        "addresses": _output("ip", "-o", "address"),
        "routes": _output("ip", "route"),
        "qdiscs": _output("tc", "qdisc", "show"),
        "nft": _output("nft", "list", "ruleset"),
        "tables": Path("/proc/net/ip_tables_names").read_text(),
        "namespaces": "\n".join(netns.ownerless()),
        "pinned": "\n".join(sorted(str(path) for path in Path("/sys/fs/bpf").rglob("*"))),
        "temporary": "\n".join(sorted(str(path) for path in Path(tempfile.gettempdir()).glob("*perpkt*"))),
        **sysctls,
    }


@pytest.fixture(autouse=True)
def _needs_root(root: None) -> None:
    """Every test here does."""
