"""The question: what frames cross, where they enter, and the fate that they must meet.

Everything here is frozen data that goes unchanged into JSON and back. A Stage renders to
the lines a person would type (paths/render.py); testbed.py is what carries it out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal

import msgspec

from perpkt.errors import UsageError

Namespace = Literal["dut", "peer"]

# Ethernet's smallest frame without its FCS, and the largest any live frame can be with 4 KiB
# pages; the kernel's own limit is lower, and found out by asking.
SMALLEST_FRAME_BYTES = 60
LARGEST_FRAME_BYTES = 4096
LARGEST_BATCH = 256


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Frozen data, told apart by its class name in JSON."""


class StageRecord(Record, frozen=True, tag=True):
    """One thing on a path. `lasting`: it can't be undone, and lives as long as its namespace."""

    lasting: ClassVar[bool] = False


class Veth(StageRecord, frozen=True):
    """A veth pair: `device` in the namespace under test, `peer` in the other one, both up."""

    lasting: ClassVar[bool] = True
    device: str
    mac: str
    peer: str
    peer_mac: str


class Address(StageRecord, frozen=True):
    """An IPv4 address with its prefix length on `device`."""

    lasting: ClassVar[bool] = True
    device: str
    address: str


class Neighbour(StageRecord, frozen=True):
    """A permanent neighbour entry, so that a reply needs no ARP."""

    lasting: ClassVar[bool] = True
    device: str
    address: str
    mac: str


class NoIPv6(StageRecord, frozen=True):
    """IPv6 off in both namespaces: a fresh veth would receive stray MLD and router solicitation frames."""

    lasting: ClassVar[bool] = True


class Sysctl(StageRecord, frozen=True):
    """A net.* sysctl of the namespace under test, set when it is made."""

    lasting: ClassVar[bool] = True
    name: str
    value: str


class Qdisc(StageRecord, frozen=True):
    """An ingress or clsact qdisc. Switches the machine-wide key ingress_needed_key on."""

    device: str
    kind: Literal["ingress", "clsact"] = "ingress"
    namespace: Namespace = "dut"


class U32(StageRecord, frozen=True):
    """u32 filters on the ingress hook, `count` of them; goes with the qdisc."""

    device: str
    match: str = "u32 0 0"
    count: int = 1


class Classifier(StageRecord, frozen=True):
    """A BPF program of two instructions on the ingress hook that says go on (TC_ACT_UNSPEC, TCX_NEXT)."""

    device: str
    hook: Literal["clsact", "tcx"]


class IptablesTable(StageRecord, frozen=True):
    """A legacy iptables table. Registered by being listed, and for as long as the namespace lives."""

    lasting: ClassVar[bool] = True
    table: Literal["filter", "raw", "mangle", "nat"] = "filter"


class IptablesRule(StageRecord, frozen=True):
    """One rule of a legacy iptables table; `new_chain`: in a chain of that name, made for it."""

    chain: str
    rule: str
    new_chain: bool = False


class UdpSocket(StageRecord, frozen=True):
    """A UDP socket that nobody reads while frames come.

    queued: its buffer holds a whole call; full: its buffer holds next to nothing;
    filtered: a socket filter refuses every packet.
    """

    address: str
    port: int
    mode: Literal["queued", "full", "filtered"]


class Tap(StageRecord, frozen=True):
    """A packet socket on `device` that takes every frame (ETH_P_ALL) and is not read."""

    device: str


Stage = (
    NoIPv6 | Veth | Address | Neighbour | Sysctl | Qdisc | U32 | Classifier
    | IptablesTable | IptablesRule | UdpSocket | Tap
)  # fmt: skip


class Counter(Record, frozen=True):
    """Where the kernel counts: `source` says who keeps the count, `name` which one of theirs.

    program: the injecting program's own count · link: `ip -s -s link` of a device ·
    snmp: /proc/net/snmp of the namespace · socket: what a socket got · qdisc: `tc -s qdisc` ·
    u32: `tc -s filter` · bpf: bpf_prog_info.run_cnt · iptables: `iptables-legacy -nvxL`.
    """

    source: Literal["program", "link", "snmp", "socket", "qdisc", "u32", "bpf", "iptables"]
    name: str

    def __str__(self) -> str:
        return f"{self.source} {self.name}"


class Fate(Record, frozen=True):
    """Where packets end: the kernel's drop reason (or our name where none is given) and who counts it.

    `dropped`: the kernel names this end to skb:kfree_skb, so that tracepoint must agree.
    """

    reason: str
    counter: Counter
    dropped: bool = True


class Flow(Record, frozen=True):
    """The frames offered: UDP over IPv4, `destinations` taken in turn.

    `to`: the device's own MAC, or another host's.
    """

    to: Literal["device", "other-host"] = "device"
    source: str = "198.18.0.2"
    destinations: tuple[str, str] = ("198.18.0.1", "198.18.0.3")
    source_port: int = 9009
    destination_port: int = 9009


class Path(Record, frozen=True):
    """What a packet crosses, and the fate it must meet.

    `crossed`: counters on the way that must have seen every packet. `silent`: counters that
    must not move. `route_hint`: whether list receive can use the route of the frame before again.
    `tracked`: conntrack must hold one entry for each destination. `held_bytes`: kernel memory
    that each packet holds until its call is over. `key_off`: the static key that must be off
    but for this path, or it has nothing to show.
    """

    name: str
    summary: str
    stages: tuple[Stage, ...]
    flow: Flow
    fates: tuple[Fate, ...]
    crossed: tuple[Counter, ...] = ()
    silent: tuple[Counter, ...] = ()
    verdict: Literal["pass", "drop"] = "pass"
    device: str = "v0"
    route_hint: Literal["hit", "missed", "not reached"] = "not reached"
    tracked: bool = False
    held_bytes: int = 0
    key_off: str = ""

    @property
    def lasting(self) -> tuple[Stage, ...]:
        """What the namespaces are made of: paths that agree in it can share them."""
        return tuple(stage for stage in self.stages if stage.lasting)

    @property
    def veth(self) -> Veth:
        """The veth pair whose device the frames enter."""
        return next(stage for stage in self.stages if isinstance(stage, Veth) and stage.device == self.device)

    @property
    def passing(self) -> tuple[Stage, ...]:
        """What is attached for the path's own calls only."""
        return tuple(stage for stage in self.stages if not stage.lasting)


class Ladder(Record, frozen=True):
    """An ordered tuple of path names, each adding one thing to an earlier one."""

    name: str
    summary: str
    paths: tuple[str, ...]
    reference: str


class Plan(Record, frozen=True):
    """What to measure, for how long, and in which (seeded) order.

    `ladders`, `named`: what was asked for, ladders and single paths. `time_s`: wall time of the
    rounds. `precision_ns`: stop at one of the looks when every difference's interval is that narrow.
    """

    ladders: tuple[str, ...]
    named: tuple[str, ...]
    paths: tuple[Path, ...]
    reference: str
    time_s: float
    seed: int
    rounds: int | None = None
    precision_ns: float | None = None
    cpu: int | None = None
    frame_bytes: int = 60
    batch: int = 64

    def __post_init__(self) -> None:
        _within("--frame-bytes", self.frame_bytes, SMALLEST_FRAME_BYTES, LARGEST_FRAME_BYTES)
        _within("--batch", self.batch, 1, LARGEST_BATCH)
        if self.batch & (self.batch - 1):
            raise UsageError(f"--batch {self.batch}: must be a power of two, so that a window holds whole batches")
        _within("--time", self.time_s, 1, 86400)
        _within("--rounds", 1 if self.rounds is None else self.rounds, 1, 100_000)
        _within("--precision", 1 if self.precision_ns is None else self.precision_ns, 0.01, 1000)

    def path(self, name: str) -> Path:
        """The path of that name; KeyError if it is not in the plan."""
        for path in self.paths:
            if path.name == name:
                return path
        raise KeyError(name)


def by_lasting(paths: Iterable[Path]) -> dict[tuple[Stage, ...], list[Path]]:
    """Paths that can share a testbed, together: those that agree in all lasting stages."""
    groups: dict[tuple[Stage, ...], list[Path]] = {}
    for path in paths:
        groups.setdefault(path.lasting, []).append(path)
    return groups


def _within(option: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise UsageError(f"{option} {str(value)[:40]}: must be from {low:g} to {high:g}")
