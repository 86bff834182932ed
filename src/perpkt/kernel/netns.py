"""Network namespaces that perpkt makes: named after their owner, entered for a while, reaped when it is gone."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

from perpkt.errors import CommandError, KernelError
from perpkt.kernel import libc
from perpkt.kernel.command import run

RUN_NETNS = Path("/run/netns")
_ENDED = ("Z", "X", "x")
_NAME = re.compile(r"perpkt-(?P<pid>\d+)-(?P<start>\d+)-[a-z0-9]+")


def start_time(pid: int) -> int | None:
    """When process `pid` started, in clock ticks after boot (/proc/PID/stat); None if it is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in _ENDED else int(fields[19])


def own_name(label: str) -> str:
    """A namespace's name that says whose it is: perpkt-PID-STARTTIME-LABEL."""
    pid = os.getpid()
    return f"perpkt-{pid}-{start_time(pid)}-{label}"


class Netns:
    """One namespace. Made by `ip netns add`, so `ip -n NAME` reaches it while it lives."""

    def __init__(self, label: str) -> None:
        self.name = own_name(label)
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


def is_own_kind(name: str) -> bool:
    """Whether a namespace of that name was made by a perpkt run."""
    return _NAME.fullmatch(name) is not None


def _listed() -> list[tuple[str, int, int]]:
    if not RUN_NETNS.is_dir():
        return []
    matches = [(entry, _NAME.fullmatch(entry)) for entry in sorted(os.listdir(RUN_NETNS))]
    return [(entry, int(match["pid"]), int(match["start"])) for entry, match in matches if match]


def ownerless() -> list[str]:
    """Namespaces of perpkt runs that are no more."""
    return [name for name, pid, start in _listed() if start_time(pid) != start]


def others() -> list[int]:
    """Pids of other perpkt runs that are measuring now."""
    pids = {pid for _, pid, start in _listed() if start_time(pid) == start}
    return sorted(pids - {os.getpid()})


def reap() -> list[str]:
    """Delete what killed runs left; returns the names. One that another reaper took first is no error."""
    reaped = []
    for name in ownerless():
        with contextlib.suppress(CommandError):
            run(["ip", "netns", "del", name])
            reaped.append(name)
    return reaped
