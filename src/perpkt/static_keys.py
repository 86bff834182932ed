"""Machine-wide static keys that others hold on: in any namespace they make code run in all of them.

An ingress or clsact qdisc and a tcx program switch ingress_needed_key on, a legacy iptables table
or an nftables base chain a netfilter hook's key, generic XDP its own, kernel.bpf_stats_enabled that of run
statistics. What can't be seen: sockets with
time stamps (netstamp_needed_key), RPS, and namespaces that are neither named nor some process's.
Reading changes nothing: iptables itself, which registers a table by being asked, is never run.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator

from perpkt.errors import HostError, KernelError
from perpkt.kernel import bpf, libc, owner, proc
from perpkt.kernel.command import run, search_path
from perpkt.kernel.netns import RUN_NETNS, named
from perpkt.spec import Record

_MOST_NAMESPACES = 64


INGRESS, NETFILTER, GENERIC_XDP = "ingress_needed_key", "nf_hooks_needed", "generic_xdp_needed_key"
RUN_STATISTICS = "bpf_stats_enabled_key"


class Held(Record, frozen=True):
    """A key (the kernel's name for it) that somebody else holds on, and what holds it where."""

    key: str
    by: str


def held_by_others() -> list[Held]:
    """All that can be seen."""
    return [
        *(Held(key, f"{by} in {where}") for where, fd in _namespaces() for key, by in _held_in(fd)),
        *_tcx(),
        *_statistics(),
    ]


def _candidates() -> Iterator[tuple[str, str]]:
    yield "this namespace", "/proc/self/ns/net"
    for name in sorted(os.listdir(RUN_NETNS)) if RUN_NETNS.is_dir() else []:
        if owner.parse(name) is None:
            yield f"namespace {name}", str(RUN_NETNS / name)
    for pid in sorted((entry for entry in os.listdir("/proc") if entry.isdigit()), key=int):
        yield f"the namespace of process {pid}", f"/proc/{pid}/ns/net"


def _namespaces() -> Iterator[tuple[str, int]]:
    """(name, descriptor) of each network namespace that can be found, the own one first; perpkt's left out."""
    seen = _inodes_of_perpkt()
    most = len(seen) + _MOST_NAMESPACES
    for name, path in _candidates():
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                inode = os.fstat(fd).st_ino
                if inode not in seen and len(seen) < most:
                    seen.add(inode)
                    yield name, fd
            finally:
                os.close(fd)


def _inodes_of_perpkt() -> set[int]:
    """The namespaces of perpkt runs: a process of theirs may be in one just now, with a qdisc in it."""
    inodes = set()
    for name, _, _ in named():
        with contextlib.suppress(OSError):
            inodes.add(os.stat(RUN_NETNS / name).st_ino)
    return inodes


def _held_in(fd: int) -> list[tuple[str, str]]:
    kinds = ((INGRESS, _qdiscs), (NETFILTER, _tables), (NETFILTER, _base_chains), (GENERIC_XDP, _generic_xdp))
    try:
        with libc.entered(fd):
            return [(key, by) for key, kind in kinds for by in kind()]
    except (KernelError, HostError):
        return []  # not permitted, or the tool is missing: both are said elsewhere


def _qdiscs() -> list[str]:
    found = re.findall(r"^qdisc (ingress|clsact) \S+ dev (\S+)", run(["tc", "qdisc", "show"]), re.MULTILINE)
    return [f"qdisc {kind} on {device}" for kind, device in found]


def _tables() -> list[str]:
    names = proc.read_or("/proc/thread-self/net/ip_tables_names", "").split()
    return [f"iptables table {name}" for name in names]


def _base_chains() -> list[str]:
    if not shutil.which("nft", path=search_path()):
        return []
    hooks = set(re.findall(r"hook (\w+)", run(["nft", "list", "chains"])))
    return [f"nftables hook {hook}" for hook in sorted(hooks)]


def _generic_xdp() -> list[str]:
    found = re.findall(r"^\d+: ([^:@]+).* xdpgeneric ", run(["ip", "-o", "link", "show"]), re.MULTILINE)
    return [f"generic XDP on {device}" for device in found]


def _tcx() -> list[Held]:
    """BPF links are the machine's, whatever namespace they are in."""
    try:
        count = sum(kind in bpf.TCX_LINKS for kind in bpf.link_types())
    except KernelError:
        return []
    return [Held(INGRESS, f"{count} tcx or netkit program{'s' if count > 1 else ''} (BPF links)")] if count else []


def _statistics() -> list[Held]:
    """Counting program runs takes two clock reads a run: more than most programs."""
    switched = proc.read_or("/proc/sys/kernel/bpf_stats_enabled", "0")
    return [Held(RUN_STATISTICS, "sysctl kernel.bpf_stats_enabled")] if switched != "0" else []
