"""Whose a namespace is, from its name: perpkt-PID-STARTTIME-PIDNS-LABEL.

The pid is that of /proc, so that it can be looked up there; the inode of the owner's pid
namespace says whether that can be believed.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_ENDED = ("Z", "X", "x")
_NAME = re.compile(r"perpkt-(?P<pid>\d+)-(?P<start>\d+)-(?P<pidns>\d+)-(?P<label>[a-z0-9]+)")
# The first pid namespace, from which all processes are seen: PROC_PID_INIT_INO of include/linux/proc_ns.h.
_FIRST_PID_NAMESPACE = 0xEFFFFFFC


def start_time(pid: int) -> int | None:
    """When process `pid` started, in clock ticks after boot (/proc/PID/stat); None if it is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in _ENDED else int(fields[19])


def pid_namespace(process: str = "self") -> int:
    """The inode of a process's pid namespace; 0 where it can't be read."""
    try:
        return os.stat(f"/proc/{process}/ns/pid").st_ino
    except OSError:
        return 0


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that has made a namespace."""

    pid: int
    start: int
    pidns: int

    def is_alive(self) -> bool:
        """Whether it still runs; yes, if that can't be seen from here."""
        if self.pidns == pid_namespace():
            return start_time(self.pid) == self.start
        if pid_namespace() != _FIRST_PID_NAMESPACE:
            return True
        processes = (entry for entry in os.listdir("/proc") if entry.isdigit())
        return any(pid_namespace(process) == self.pidns for process in processes)


def own() -> Owner:
    """This process, as /proc knows it."""
    pid = int(os.readlink("/proc/self"))
    return Owner(pid, start_time(pid) or 0, pid_namespace())


def own_name(label: str) -> str:
    """A name that says whose it is; `label` of small letters and digits."""
    me = own()
    return f"perpkt-{me.pid}-{me.start}-{me.pidns}-{label}"


def parse(name: str) -> tuple[Owner, str] | None:
    """Owner and label of a name of perpkt's; None for another name."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return Owner(int(match["pid"]), int(match["start"]), int(match["pidns"])), match["label"]
