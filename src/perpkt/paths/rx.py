"""The receive paths of seeds 000 and 003: frames enter netif_receive_skb_list on one end of a veth pair."""

from __future__ import annotations

from typing import Any

from perpkt.spec import (
    U32,
    Address,
    Classifier,
    Counter,
    Fate,
    Flow,
    IptablesRule,
    IptablesTable,
    Ladder,
    Neighbour,
    NoIPv6,
    Path,
    Qdisc,
    Stage,
    Sysctl,
    Tap,
    UdpSocket,
    Veth,
)

MAC = "02:00:00:00:00:01"
PEER_MAC = "02:00:00:00:00:02"

_PAIR: tuple[Stage, ...] = (
    NoIPv6(),
    Veth("v0", MAC, "v1", PEER_MAC),
    Address("v0", "198.18.0.1/24"),
    Address("v0", "198.18.0.3/24"),
    Neighbour("v0", "198.18.0.2", PEER_MAC),
)
# No ICMP error leaves: with no message allowed per second, icmp_global_allow refuses each at once.
# The namespace's own since Linux kernel commit f17bf505ff89 ("icmp: icmp_msgs_per_sec and
# icmp_msgs_burst sysctls become per netns") (in v6.12).
_NO_ICMP = Sysctl("net.ipv4.icmp_msgs_per_sec", "0")
_ICMP_SENT = Counter("snmp", "Icmp OutMsgs")

_NO_SOCKET = Fate("NO_SOCKET", Counter("snmp", "Udp NoPorts"))
_OTHER_HOST = Fate("OTHERHOST", Counter("link", "rx_otherhost_dropped"))

# A data page and its skb: SKB_TRUESIZE of a 4 KiB live frame, held until the socket is read or closed.
_HELD_BYTES = 4608


def _other_host(name: str, summary: str, *stages: Stage, **more: Any) -> Path:
    return Path(name, summary, (*_PAIR, *stages), Flow("other-host"), (_OTHER_HOST,), **more)


def _local(name: str, summary: str, *stages: Stage, fates: tuple[Fate, ...] = (_NO_SOCKET,), **more: Any) -> Path:
    more = {"silent": (_ICMP_SENT,), "route_hint": "missed", **more}
    return Path(name, summary, (*_PAIR, _NO_ICMP, *stages), Flow(), fates, **more)


def _socket(mode: Any, summary: str, fate: Fate, held_bytes: int = 0) -> Path:
    socket = UdpSocket("0.0.0.0", Flow().destination_port, mode)  # noqa: S104 - in a namespace of its own
    return _local(f"rx/udp-socket-{mode}", summary, socket, fates=(fate,), held_bytes=held_bytes)


PATHS: tuple[Path, ...] = (
    Path(
        "rx/floor",
        "XDP_DROP in the injecting program: what injecting costs",
        _PAIR,
        Flow("other-host"),
        (Fate("XDP_DROP", Counter("program", "sent"), dropped=False),),
        verdict="drop",
    ),
    _other_host("rx/other-host", "another host's MAC address, dropped in ip_rcv: the raw receive path"),
    _other_host(
        "rx/ingress-other-dev",
        "an ingress qdisc on a device that the packet does not cross: the static key alone",
        Qdisc("v1", namespace="peer"),
        silent=(Counter("qdisc", "peer v1"),),
        key_off="ingress_needed_key",
    ),
    _other_host(
        "rx/ingress",
        # no counter on the way: a qdisc without a filter has no miniq, and tc_run counts only with one
        "an empty ingress qdisc on this device",
        Qdisc("v0"),
    ),
    _other_host(
        "rx/ingress-u32",
        "ingress qdisc and u32 match u32 0 0",
        Qdisc("v0"),
        U32("v0"),
        crossed=(Counter("qdisc", "dut v0"), Counter("u32", "dut v0")),
    ),
    _other_host(
        "rx/clsact-bpf",
        "clsact qdisc and a cls_bpf direct-action program that returns TC_ACT_UNSPEC",
        Qdisc("v0", "clsact"),
        Classifier("v0", "clsact"),
        crossed=(Counter("qdisc", "dut v0"), Counter("bpf", "clsact")),
    ),
    _other_host(
        "rx/tcx-bpf",
        "a tcx program that returns TCX_NEXT",
        Classifier("v0", "tcx"),
        crossed=(Counter("bpf", "tcx"),),
    ),
    Path(
        "rx/udp-icmp",
        "UDP to the device's own addresses, no socket, ICMP errors with the kernel's defaults",
        _PAIR,
        Flow(),
        (_NO_SOCKET,),
        route_hint="missed",
    ),
    _local("rx/udp-no-socket", "UDP to the device's own addresses, no socket, no ICMP sent"),
    _local(
        "rx/udp-iptables",
        "no socket, an empty legacy iptables filter table",
        IptablesTable(),
        crossed=(Counter("iptables", "policy INPUT"),),
    ),
    _local(
        "rx/udp-conntrack",
        "an iptables table with a conntrack rule in a chain that nothing jumps to",
        IptablesTable(),
        IptablesRule("unused", "-m conntrack --ctstate NEW", new_chain=True),
        crossed=(Counter("iptables", "policy INPUT"),),
        tracked=True,
    ),
    _local(
        "rx/udp-conntrack-rule",
        "an iptables table with a conntrack state rule in INPUT, without a target",
        IptablesTable(),
        IptablesRule("INPUT", "-m conntrack --ctstate NEW"),
        crossed=(Counter("iptables", "policy INPUT"), Counter("iptables", "rule INPUT")),
        tracked=True,
    ),
    _socket(
        "queued",
        "a UDP socket that nobody reads, with room for a whole call",
        Fate("queued", Counter("socket", "received"), dropped=False),
        _HELD_BYTES,
    ),
    _socket(
        "full",
        "a UDP socket whose buffer is full",
        Fate("SOCKET_RCVBUFF", Counter("snmp", "Udp RcvbufErrors")),
    ),
    _socket(
        "filtered",
        "a UDP socket whose filter refuses every packet",
        Fate("SOCKET_FILTER", Counter("snmp", "Udp InErrors")),
    ),
    _local(
        "rx/udp-tap",
        "no socket, a packet socket that takes a clone of every frame",
        Tap("v0"),
        crossed=(Counter("socket", "tapped"),),
        held_bytes=_HELD_BYTES,
    ),
)

INGRESS = Ladder(
    "ingress",
    "the ingress hook, from nothing to a tcx program",
    tuple(path.name for path in PATHS[:7]),
    "rx/other-host",
)
LOCAL = Ladder(
    "local",
    "UDP to this host: ICMP, iptables, conntrack, sockets, a tap",
    tuple(path.name for path in PATHS[7:]),
    "rx/udp-no-socket",
)
RX = Ladder("rx", "both ladders together", INGRESS.paths + LOCAL.paths, INGRESS.reference)
LADDERS = (RX, INGRESS, LOCAL)
