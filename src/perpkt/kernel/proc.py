"""Reads of /proc and /sys: counters and settings of the namespace that this thread is in."""

from __future__ import annotations

from pathlib import Path

from perpkt.errors import KernelError, Unsupported


def read(path: str) -> str:
    """A file's text without the last newline; KernelError if it can't be read."""
    try:
        return Path(path).read_text().rstrip("\n")
    except OSError as error:
        raise KernelError(f"read {path}", error.errno or 0) from None


def read_or(path: str, otherwise: str) -> str:
    """A file's text, or `otherwise` where there is none."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return otherwise


def parse_snmp(text: str) -> dict[str, int]:
    """/proc/net/snmp as {"Udp NoPorts": 3}: each protocol has a line of names and one of values."""
    lines = text.splitlines()
    counters: dict[str, int] = {}
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        protocol, *fields = names.split()
        pairs = zip(fields, values.split()[1:], strict=False)
        counters.update((f"{protocol.rstrip(':')} {field}", int(value)) for field, value in pairs)
    return counters


def snmp() -> dict[str, int]:
    """The namespace's SNMP counters. Of the thread: /proc/net would be the process's first thread's."""
    return parse_snmp(read("/proc/thread-self/net/snmp"))


def sysctl_path(name: str) -> str:
    """The file of net.ipv4.icmp_msgs_per_sec."""
    return "/proc/sys/" + name.replace(".", "/")


def write_sysctl(name: str, value: str) -> None:
    """Set a sysctl of this namespace; Unsupported where it has none of that name."""
    path = Path(sysctl_path(name))
    if not path.exists():
        raise Unsupported(f"this kernel has no {name} in a network namespace", "A newer kernel may have it.")
    try:
        path.write_text(value)
    except OSError as error:
        raise KernelError(f"set {name} to {value}", error.errno or 0) from None


def involuntary_switches() -> int:
    """How often this thread was put off its CPU against its will."""
    for line in read("/proc/thread-self/status").splitlines():
        if line.startswith("nonvoluntary_ctxt_switches"):
            return int(line.split()[1])
    return 0


def steal_ticks(cpu: int) -> int:
    """Time that the hypervisor gave to others, in clock ticks of 10 ms, since boot."""
    for line in read("/proc/stat").splitlines():
        fields = line.split()
        if fields[0] == f"cpu{cpu}":
            return int(fields[8])
    return 0


def interrupts(cpu: int) -> int:
    """Interrupts that `cpu` has taken since boot; 0 where /proc/interrupts has no such column."""
    lines = read_or("/proc/interrupts", "").splitlines()
    columns = lines[0].split() if lines else []
    if f"CPU{cpu}" not in columns:
        return 0
    column = 1 + columns.index(f"CPU{cpu}")
    # rows of one figure (ERR, MIS) are the machine's
    rows = (row for row in map(str.split, lines[1:]) if len(row) > len(columns))
    return sum(int(row[column]) for row in rows if row[column].isdigit())
