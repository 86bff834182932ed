"""kernel.owner: whose a namespace is, told by its name."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from perpkt.kernel import owner
from perpkt.kernel.owner import start_time

NOBODY = 2**22 + 1  # over the largest pid that Linux gives (PID_MAX_LIMIT)


def test_start_time_is_the_processs_own() -> None:
    """A process has one start time, and one that it started has none before it."""
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            own, childs = start_time(os.getpid()), start_time(child.pid)
            assert own is not None
            assert childs is not None
            assert own == start_time(os.getpid())
            assert own <= childs
        finally:
            child.kill()


def test_start_time_of_an_odd_name(tmp_path: Path) -> None:
    """A program whose name looks like other fields of the line does not move them."""
    odd = tmp_path / "a) R 1 (b) c"
    odd.symlink_to("/bin/sleep")
    with subprocess.Popen([odd, "60"]) as child:
        try:
            text = Path(f"/proc/{child.pid}/stat").read_text()
            expected = int(text.split("(b) c) ", 1)[1].split()[19])
            assert start_time(child.pid) == expected
        finally:
            child.kill()


def test_start_time_of_a_process_that_is_gone() -> None:
    """What is no more has no start time."""
    with subprocess.Popen(["true"]) as child:
        child.wait()
    assert start_time(child.pid) is None
    assert start_time(NOBODY) is None


def test_own_name() -> None:
    """A name says the pid, its start time, its pid namespace and the label, and is read back as this process's."""
    name = owner.own_name("t0d")
    assert name == f"perpkt-{os.getpid()}-{start_time(os.getpid())}-{os.stat('/proc/self/ns/pid').st_ino}-t0d"
    assert owner.parse(name) == (owner.own(), "t0d")
    assert owner.own().is_alive()


def test_an_owner_in_an_unseen_pid_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    """From within a pid namespace an owner in another one counts as alive: it can't be seen from there."""
    stranger = owner.Owner(NOBODY, 5, 1)
    monkeypatch.setattr(owner, "pid_namespace", lambda process="self": 2)
    assert stranger.is_alive()


def test_an_owner_whose_pid_namespace_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first pid namespace all processes are seen: an owner whose pid namespace none is in is gone."""
    stranger = owner.Owner(NOBODY, 5, 1)
    monkeypatch.setattr(owner, "pid_namespace", lambda process="self": owner._FIRST_PID_NAMESPACE)
    assert not stranger.is_alive()
