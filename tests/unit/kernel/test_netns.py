"""kernel.netns: whose a namespace is, told by its name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from perpkt.errors import CommandError, KernelError, NotPermitted
from perpkt.kernel import netns
from perpkt.kernel.netns import Netns
from perpkt.kernel.owner import own_name, pid_namespace, start_time

NOBODY = 2**22 + 1  # over the largest pid that Linux gives (PID_MAX_LIMIT)
FOREIGN = [
    "other",
    "perpkt",
    "perpkt-1-2-3-",
    "perpkt-1-2-a",
    "perpkt-1-2-3-UP",
    "perpkt-1-2-3-a.old",
    "perpkt-x-2-3-a",
    "perpkt-test-77-3-a",
    "my-perpkt-1-2-3-a",
]


def named(pid: int, start: int, label: str) -> str:
    """A name as that process would give it."""
    return f"perpkt-{pid}-{start}-{pid_namespace()}-{label}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of /run/netns, with names that are not perpkt's in it."""
    monkeypatch.setattr(netns, "RUN_NETNS", tmp_path)
    for name in FOREIGN:
        (tmp_path / name).touch()
    return tmp_path


def test_ownerless(folder: Path) -> None:
    """Ownerless is what a dead process made, and what an earlier process of the same pid made; nothing else."""
    own = own_name("a")
    dead, former = named(NOBODY, 5, "a"), named(os.getpid(), 1, "a")
    for name in (own, dead, former):
        (folder / name).touch()
    assert netns.ownerless() == sorted([dead, former])


def test_others(folder: Path) -> None:
    """Others are the living owners of a run's home but this process, each once."""
    parent = os.getppid()
    for name in (
        own_name("home0"),
        named(NOBODY, 5, "home0"),
        *(named(parent, start_time(parent) or 0, one) for one in ("home0", "home7", "t1d")),
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
    dead = [named(NOBODY, 5, label) for label in ("a", "b", "c")]
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


def test_names_are_the_processs_only_ones() -> None:
    """Two runs in one process never mean the same namespace."""
    assert Netns("home").name != Netns("home").name


def test_clean_says_what_is_left(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be deleted is an error with the remedy, never "nothing was left"."""
    name = named(NOBODY, 5, "a")
    (folder / name).touch()

    def refused(argv: Sequence[str]) -> str:
        raise CommandError("ip netns del", 0, "Operation not permitted")

    monkeypatch.setattr(netns, "run", refused)
    with pytest.raises(NotPermitted, match=name):
        netns.clean()
