"""One command line, run in this process or in another, and a result file to give it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from perpkt import store
from perpkt.cli.main import main
from perpkt.result import Result
from perpkt.testing import sample_result

PERPKT = [sys.executable, "-m", "perpkt"]


@dataclass(frozen=True)
class Answer:
    """What a command line ended with and said."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The one line on standard error."""
        assert self.err.startswith("perpkt: ")
        assert self.err.count("\n") == 1
        return self.err.removeprefix("perpkt: ").rstrip()


Perpkt = Callable[..., Answer]


@pytest.fixture
def perpkt(capsys: pytest.CaptureFixture[str]) -> Iterator[Perpkt]:
    """Runs a command line in this process; signals are as before after it."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def run(*words: object) -> Answer:
        code = main([str(word) for word in words])
        return Answer(code, *capsys.readouterr())

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _logs_go_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that a test uncovers leaves no log in the home of who runs it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def sample() -> Result:
    """A small result."""
    return sample_result(rounds=6, windows=4)


@pytest.fixture
def saved(sample: Result, tmp_path: Path) -> Path:
    """Its file."""
    path = tmp_path / "r.json"
    store.save(sample, path)
    return path


def elsewhere(
    *words: object, prefix: tuple[str, ...] = (), stdout: int = subprocess.PIPE, **environment: str
) -> Answer:
    """Runs a command line in a process of its own."""
    argv = [*prefix, *PERPKT, *(str(word) for word in words)]
    done = subprocess.run(
        argv,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )
    return Answer(done.returncode, done.stdout or "", done.stderr)
