"""kernel.netns: whose a namespace is, told by its name."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from perpkt.errors import CommandError, KernelError
from perpkt.kernel import netns
from perpkt.kernel.netns import Netns, own_name, start_time

NOBODY = 2**22 + 1  # over the largest pid that Linux gives (PID_MAX_LIMIT)
FOREIGN = [
    "other",
    "perpkt",
    "perpkt-1-2-",
    "perpkt-1-2-UP",
    "perpkt-1-2-a.old",
    "perpkt-x-2-a",
    "perpkt-test-77-a",
    "my-perpkt-1-2-a",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of /run/netns, with names that are not perpkt's in it."""
    monkeypatch.setattr(netns, "RUN_NETNS", tmp_path)
    for name in FOREIGN:
        (tmp_path / name).touch()
    return tmp_path


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
    """A name says the pid, its start time and the label, and is read back as this process's."""
    name = own_name("t0d")
    assert name == f"perpkt-{os.getpid()}-{start_time(os.getpid())}-t0d"
    assert Netns("t0d").name == name


def test_ownerless(folder: Path) -> None:
    """Ownerless is what a dead process made, and what an earlier process of the same pid made; nothing else."""
    own = own_name("a")
    dead, former = f"perpkt-{NOBODY}-5-a", f"perpkt-{os.getpid()}-1-a"
    for name in (own, dead, former):
        (folder / name).touch()
    assert netns.ownerless() == sorted([dead, former])


def test_others(folder: Path) -> None:
    """Others are the living owners but this process, each once."""
    parent = os.getppid()
    for name in (
        own_name("a"),
        f"perpkt-{NOBODY}-5-a",
        *(f"perpkt-{parent}-{start_time(parent)}-{one}" for one in "ab"),
    ):
        (folder / name).touch()
    assert netns.others() == [parent]


def test_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that never had a named namespace has none to reap and no other run."""
    monkeypatch.setattr(netns, "RUN_NETNS", tmp_path / "missing")
    assert netns.ownerless() == []
    assert netns.others() == []


def test_reap(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is ownerless is deleted; one that another reaper took first is not said to be reaped."""
    dead = [f"perpkt-{NOBODY}-5-{label}" for label in ("a", "b", "c")]
    for name in (*dead, own_name("a")):
        (folder / name).touch()
    asked: list[str] = []

    def run(argv: Sequence[str]) -> str:
        assert list(argv[:3]) == ["ip", "netns", "del"]
        asked.append(argv[3])
        if argv[3] == dead[1]:
            raise CommandError("ip netns del", 0, "No such file or directory")
        return ""

    monkeypatch.setattr(netns, "run", run)
    assert netns.reap() == [dead[0], dead[2]]
    assert asked == dead


def test_entering_what_was_not_made() -> None:
    """A namespace that was not created can't be entered, and deleting it is no error."""
    namespace = Netns("never")
    with pytest.raises(KernelError, match=f"enter namespace {namespace.name}"), namespace.entered():
        pass
    namespace.delete()
