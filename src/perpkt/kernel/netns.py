"""Network namespaces that perpkt makes: named after their owner, entered for a while, reaped when it is gone."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from perpkt.errors import CommandError, KernelError, NotPermitted
from perpkt.kernel import libc, owner
from perpkt.kernel.command import run

RUN_NETNS = Path("/run/netns")
# What a run that measures keeps from its beginning to its end; doctor and paths have none.
HOME = "home"

_numbers = itertools.count()


class Netns:
    """One namespace. Made by `ip netns add`, so `ip -n NAME` reaches it while it lives.

    `label`: small letters; a number makes it the process's only one of that name.
    """

    def __init__(self, label: str) -> None:
        self.name = owner.own_name(f"{label}{next(_numbers)}")
        self._fd: int | None = None

    def create(self) -> None:
        """Make it and keep hold of it; `delete` is safe to call also when this failed half way."""
        run(["ip", "netns", "add", self.name])
        self._fd = os.open(RUN_NETNS / self.name, os.O_RDONLY | os.O_CLOEXEC)

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """This thread, and the programs that it starts, are inside for the length of the block."""
        if self._fd is None:
            raise KernelError(f"enter namespace {self.name}", errno.ENOENT)
        with libc.entered(self._fd):
            yield

    def delete(self) -> None:
        """Take the name away; the kernel ends the namespace and its devices soon after."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        if (RUN_NETNS / self.name).exists():
            run(["ip", "netns", "del", self.name])


def named() -> list[tuple[str, owner.Owner, str]]:
    """Name, owner and label of each namespace that a perpkt has made and that is still there."""
    names = sorted(os.listdir(RUN_NETNS)) if RUN_NETNS.is_dir() else []
    found = [(name, owner.parse(name)) for name in names]
    return [(name, *parsed) for name, parsed in found if parsed]


def ownerless() -> list[str]:
    """Namespaces of perpkt runs that are no more."""
    alive: dict[owner.Owner, bool] = {}
    for _, whose, _ in named():
        if whose not in alive:
            alive[whose] = whose.is_alive()
    return [name for name, whose, _ in named() if not alive.get(whose, True)]


def others() -> list[int]:
    """Pids of other perpkt runs that are measuring now."""
    runs = {whose for _, whose, label in named() if label.startswith(HOME)} - {owner.own()}
    return sorted(whose.pid for whose in runs if whose.is_alive())


def reap() -> list[str]:
    """Delete what killed runs left; returns the names. One that another reaper took first is no error."""
    reaped = []
    for name in ownerless():
        with contextlib.suppress(CommandError):
            run(["ip", "netns", "del", name])
            reaped.append(name)
    return reaped


def clean() -> list[str]:
    """As `reap`; NotPermitted if something is left all the same."""
    reaped = reap()
    left = ownerless()
    if left:
        raise NotPermitted(f"could not delete {', '.join(left)}", "Run it as root: sudo perpkt doctor --clean")
    return reaped
