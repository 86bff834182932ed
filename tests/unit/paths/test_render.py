"""paths.render: the lines that a person would type."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from perpkt.paths import CATALOGUE, render
from perpkt.paths.render import Line, batched, build, script, typed, undo
from perpkt.spec import (
    U32,
    Address,
    Classifier,
    IptablesRule,
    IptablesTable,
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

EACH = pytest.mark.parametrize("path", CATALOGUE, ids=lambda path: path.name)
VETH = Veth("v0", "02:00:00:00:00:01", "v1", "02:00:00:00:00:02")
TYPED: list[tuple[Stage, list[str]]] = [
    (
        VETH,
        [
            "ip -n perpkt-dut link add v0 address 02:00:00:00:00:01 type veth"
            " peer name v1 address 02:00:00:00:00:02 netns perpkt-peer",
            "ip -n perpkt-dut link set v0 up",
            "ip -n perpkt-peer link set v1 up",
        ],
    ),
    (Address("v0", "198.18.0.1/24"), ["ip -n perpkt-dut address add 198.18.0.1/24 dev v0"]),
    (
        Neighbour("v0", "198.18.0.2", VETH.peer_mac),
        ["ip -n perpkt-dut neighbour add 198.18.0.2 lladdr 02:00:00:00:00:02 dev v0"],
    ),
    (Qdisc("v1", namespace="peer"), ["tc -n perpkt-peer qdisc add dev v1 ingress"]),
    (Qdisc("v0", "clsact"), ["tc -n perpkt-dut qdisc add dev v0 clsact"]),
    (
        U32("v0", count=2),
        ["tc -n perpkt-dut filter add dev v0 parent ffff: protocol ip prio 1 u32 match u32 0 0 flowid 1:1"] * 2,
    ),
    (IptablesTable("raw"), ["ip netns exec perpkt-dut iptables-legacy -t raw -S"]),
    (IptablesRule("INPUT", "-m conntrack"), ["ip netns exec perpkt-dut iptables-legacy -A INPUT -m conntrack"]),
    (
        IptablesRule("own", "-j ACCEPT", new_chain=True),
        [
            "ip netns exec perpkt-dut iptables-legacy -N own",
            "ip netns exec perpkt-dut iptables-legacy -A own -j ACCEPT",
        ],
    ),
    (Sysctl("net.ipv4.a", "0"), ["ip netns exec perpkt-dut sysctl -qw net.ipv4.a=0"]),
]


@pytest.mark.parametrize(("stage", "lines"), TYPED, ids=[type(stage).__name__ for stage, _ in TYPED])
def test_typed(stage: Stage, lines: list[str]) -> None:
    """A stage is made by these commands."""
    assert typed(stage) == lines


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        (NoIPv6(), "disable_ipv6=1"),
        (Classifier("v0", "clsact"), "filter add dev v0 ingress bpf da"),
        (Classifier("v0", "tcx"), "# a tcx program on v0"),
        (UdpSocket("198.18.0.1", 9, "full"), "# a UDP socket bound to 198.18.0.1:9 that nobody reads, full"),
        (Tap("v0"), "# a packet socket (ETH_P_ALL) on v0"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_said(stage: Stage, words: str) -> None:
    """A stage that is not made of tool lines is said: as a command with the same effect, or as a comment."""
    assert build(stage) == []
    assert words in "\n".join(typed(stage))


@EACH
def test_every_stage_renders_or_is_said(path: Path) -> None:
    """No stage of a path is passed over in silence."""
    for stage in path.stages:
        assert all(line.strip() for line in typed(stage))
        assert typed(stage)


def test_unknown_stage_is_refused() -> None:
    """What has neither lines nor words is a TypeError, not an empty line."""
    with pytest.raises(TypeError):
        render.said("no stage")  # type: ignore[arg-type]


@EACH
def test_script_parses(path: Path) -> None:
    """The script of a path is one that sh takes."""
    checked = subprocess.run(["sh", "-n"], input=script(path), capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


@EACH
def test_script_is_complete(path: Path) -> None:
    """The script names its path, stops at the first error, makes both namespaces first, and fills in every name."""
    lines = script(path).splitlines()
    assert lines[:5] == [
        "#!/bin/sh",
        f"# {path.name}: {path.summary}",
        "set -e",
        "ip netns add perpkt-dut",
        "ip netns add perpkt-peer",
    ]
    assert "{" not in script(path)
    assert all(line in lines for stage in path.stages for text in typed(stage) for line in text.splitlines())


@EACH
def test_script_stays_in_its_namespaces(path: Path) -> None:
    """Every command of a script names one of its two namespaces: none changes the host's own."""
    commands = [shlex.split(line) for line in script(path).splitlines()[5:] if not line.startswith("#")]
    inside = {("-n", "perpkt-dut"), ("-n", "perpkt-peer"), ("netns", "exec")}
    assert all(tuple(command[1:3]) in inside for command in commands)
    assert all(command[3].startswith("perpkt-") for command in commands if command[1] == "netns")


@EACH
def test_passing_stages_are_undone(path: Path) -> None:
    """Each passing stage that lines have made is undone by lines, but for the filter that goes with its qdisc."""
    for stage in path.passing:
        assert isinstance(stage, U32) or bool(build(stage)) == bool(undo(stage))
    assert not any(undo(stage) for stage in path.lasting)


def test_undo() -> None:
    """What undoes a stage is its building, backwards."""
    assert undo(Qdisc("v1", "clsact", "peer")) == [Line("tc", "qdisc del dev v1 clsact", "peer")]
    assert undo(IptablesRule("own", "-j X", new_chain=True)) == [
        Line("iptables-legacy", "-D own -j X"),
        Line("iptables-legacy", "-X own"),
    ]


def test_batched() -> None:
    """Neighbouring lines of one tool and namespace go together, and the order is kept."""
    lines = [Line("ip", "1"), Line("ip", "2"), Line("ip", "3", "peer"), Line("tc", "4"), Line("ip", "5")]
    assert batched(lines) == [
        ("ip", "dut", ["1", "2"]),
        ("ip", "peer", ["3"]),
        ("tc", "dut", ["4"]),
        ("ip", "dut", ["5"]),
    ]
    assert batched([]) == []
