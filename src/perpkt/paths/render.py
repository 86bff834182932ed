"""Stage -> the lines a person would type: command, namespace and undoing included."""

from __future__ import annotations

from functools import singledispatch

from perpkt.spec import (
    U32,
    Address,
    Classifier,
    IptablesRule,
    IptablesTable,
    Namespace,
    Neighbour,
    NoIPv6,
    Path,
    Qdisc,
    Record,
    Stage,
    Sysctl,
    Tap,
    UdpSocket,
    Veth,
)
from perpkt.wire.frame import OTHER_HOST_MAC


class Line(Record, frozen=True):
    """One line for one tool, to be run in `namespace`; ip and tc lines of a kind go into one batch."""

    tool: str
    arguments: str
    namespace: Namespace = "dut"


@singledispatch
def build(stage: Stage) -> list[Line]:
    """The lines that make a stage; none for a stage that no tool can make (a program, a socket)."""
    return []


@build.register
def _(stage: Veth) -> list[Line]:
    pair = f"link add {stage.device} address {stage.mac} type veth peer name {stage.peer} address {stage.peer_mac}"
    return [
        Line("ip", f"{pair} netns {{peer}}"),
        Line("ip", f"link set {stage.device} up"),
        Line("ip", f"link set {stage.peer} up", "peer"),
    ]


@build.register
def _(stage: Address) -> list[Line]:
    return [Line("ip", f"address add {stage.address} dev {stage.device}")]


@build.register
def _(stage: Neighbour) -> list[Line]:
    return [Line("ip", f"neighbour add {stage.address} lladdr {stage.mac} dev {stage.device}")]


@build.register
def _(stage: Qdisc) -> list[Line]:
    return [Line("tc", f"qdisc add dev {stage.device} {stage.kind}", stage.namespace)]


@build.register
def _(stage: U32) -> list[Line]:
    add = f"filter add dev {stage.device} parent ffff: protocol ip prio 1 u32 match {stage.match} flowid 1:1"
    return [Line("tc", add)] * stage.count


@build.register
def _(stage: IptablesTable) -> list[Line]:
    # Listing a table registers it: Linux kernel commit fdacd57c79b7 ("netfilter: x_tables: never
    # register tables by default") (in v5.15) has its hooks added on first use in a namespace.
    return [Line("iptables-legacy", f"-t {stage.table} -S")]


@build.register
def _(stage: IptablesRule) -> list[Line]:
    chain = [Line("iptables-legacy", f"-N {stage.chain}")] if stage.new_chain else []
    return [*chain, Line("iptables-legacy", f"-A {stage.chain} {stage.rule}")]


@singledispatch
def undo(stage: Stage) -> list[Line]:
    """The lines that take a passing stage away again."""
    return []


@undo.register
def _(stage: Qdisc) -> list[Line]:
    return [Line("tc", f"qdisc del dev {stage.device} {stage.kind}", stage.namespace)]


@undo.register
def _(stage: IptablesRule) -> list[Line]:
    chain = [Line("iptables-legacy", f"-X {stage.chain}")] if stage.new_chain else []
    return [Line("iptables-legacy", f"-D {stage.chain} {stage.rule}"), *chain]


def batched(lines: list[Line]) -> list[tuple[str, Namespace, list[str]]]:
    """Lines in order as (tool, namespace, arguments of each): neighbours of a kind together."""
    batches: list[tuple[str, Namespace, list[str]]] = []
    for line in lines:
        if batches and batches[-1][:2] == (line.tool, line.namespace):
            batches[-1][2].append(line.arguments)
        else:
            batches.append((line.tool, line.namespace, [line.arguments]))
    return batches


def script(path: Path) -> str:
    """A shell script that builds `path` in two namespaces, and says in comments what no tool can do."""
    body = "\n".join(text for stage in path.stages for text in typed(stage))
    return f"""#!/bin/sh
# {path.name}: {path.summary}
set -e
ip netns add perpkt-dut
ip netns add perpkt-peer
{body}
{_traffic(path)}
# take it away again: ip netns del perpkt-dut; ip netns del perpkt-peer
"""


def _traffic(path: Path) -> str:
    flow = path.flow
    to = f"{path.device}'s own MAC address" if flow.to == "device" else f"another host's MAC address ({OTHER_HOST_MAC})"
    end = "dropped by the injecting program" if path.verdict == "drop" else "passed to the stack"
    return (
        f"# then frames into {path.device}, {end}: to {to},\n"
        f"# UDP from {flow.source} to {' and '.join(flow.destinations)} in turn, port {flow.destination_port}"
    )


def typed(stage: Stage) -> list[str]:
    """What a person would type for a stage, or a comment that says what no tool can do."""
    lines = build(stage)
    return [_shell(line) for line in lines] if lines else said(stage).splitlines()


def _shell(line: Line) -> str:
    namespace = f"perpkt-{line.namespace}"
    arguments = line.arguments.format(peer="perpkt-peer", dut="perpkt-dut")
    if line.tool in ("ip", "tc"):
        return f"{line.tool} -n {namespace} {arguments}"
    return f"ip netns exec {namespace} {line.tool} {arguments}"


@singledispatch
def said(stage: Stage) -> str:
    """What a stage without lines is, as a comment or a command in a script."""
    raise TypeError(stage)


@said.register
def _(stage: NoIPv6) -> str:
    off = "sysctl -qw net.ipv6.conf.all.disable_ipv6=1"
    return f"ip netns exec perpkt-dut {off}\nip netns exec perpkt-peer {off}"


@said.register
def _(stage: Sysctl) -> str:
    return f"ip netns exec perpkt-dut sysctl -qw {stage.name}={stage.value}"


@said.register
def _(stage: Classifier) -> str:
    if stage.hook == "clsact":
        # the same two instructions as classic BPF, which tc loads by itself
        return f"tc -n perpkt-dut filter add dev {stage.device} ingress bpf da bytecode '1,6 0 0 4294967295,'"
    return f"# a tcx program on {stage.device}, ingress: r0 = -1 (TCX_NEXT); exit"


@said.register
def _(stage: UdpSocket) -> str:
    return f"# a UDP socket bound to {stage.address}:{stage.port} that nobody reads, {stage.mode}"


@said.register
def _(stage: Tap) -> str:
    return f"# a packet socket (ETH_P_ALL) on {stage.device} that nobody reads"
