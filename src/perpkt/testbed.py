"""Path -> Testbed: the namespaces of a path while they exist, what is attached to them, and their counters."""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from functools import singledispatchmethod

from perpkt import teardown
from perpkt.errors import MeasurementError, NotSettled
from perpkt.kernel import bpf, cls_bpf, proc
from perpkt.kernel.command import run
from perpkt.kernel.netlink import RTMGRP_LINK, open_socket
from perpkt.kernel.netns import Netns
from perpkt.kernel.rtnetlink import LinkStatistics
from perpkt.kernel.sockets import PacketTap, UdpSink
from perpkt.paths import render
from perpkt.spec import Classifier, Counter, NoIPv6, Path, Stage, Sysctl, Tap, UdpSocket, Veth
from perpkt.wire import programs

_GONE_DEADLINE_S = 20.0
_BATCHED = ("ip", "tc")


class Testbed:
    """Two namespaces, `dut` and `peer`, with a path's lasting stages; paths that agree in those share it."""

    def __init__(self, label: str, lasting: Sequence[Stage]) -> None:
        self._lasting = lasting
        self.namespaces = {"dut": Netns(f"{label}d"), "peer": Netns(f"{label}p")}

    @contextlib.contextmanager
    def built(self) -> Iterator[None]:
        """The namespaces exist for the length of the block; after it their devices are gone, not only asked to go."""
        with contextlib.ExitStack() as stack:
            teardown.push(stack, self.namespaces["peer"].delete)
            self.namespaces["peer"].create()
            teardown.push(stack, self._end_dut)
            self.namespaces["dut"].create()
            for stage in self._lasting:
                self._make(stage)
            yield

    def _end_dut(self) -> None:
        # The hooks of a namespace (and the static keys that they hold) go before its devices: that
        # the peer of its veth is gone proves both.
        peers = [stage.peer for stage in self._lasting if isinstance(stage, Veth)]
        with self.namespaces["peer"].entered(), open_socket(RTMGRP_LINK) as events:
            self.namespaces["dut"].delete()
            deadline = time.monotonic() + _GONE_DEADLINE_S
            for peer in peers:
                _wait_gone(peer, events, deadline)

    def _make(self, stage: Stage) -> None:
        if isinstance(stage, NoIPv6):
            self._ipv6_off()
        elif isinstance(stage, Sysctl):
            with self.namespaces["dut"].entered():
                proc.write_sysctl(stage.name, stage.value)
        else:
            self.run(render.build(stage))

    def _ipv6_off(self) -> None:
        for namespace in self.namespaces.values():
            with namespace.entered():
                if os.path.exists("/proc/sys/net/ipv6"):
                    proc.write_sysctl("net.ipv6.conf.all.disable_ipv6", "1")

    def run(self, lines: list[render.Line]) -> None:
        """Run lines as a person would, those for ip and tc in batches."""
        names = {name: netns.name for name, netns in self.namespaces.items()}
        for tool, where, arguments in render.batched(lines):
            filled = [line.format(**names) for line in arguments]
            with self.namespaces[where].entered():
                if tool in _BATCHED:
                    run([tool, "-batch", "-"], filled)
                else:
                    for line in filled:
                        run([tool, *line.split()])

    @contextlib.contextmanager
    def attached(self, path: Path) -> Iterator[Attachment]:
        """The path's passing stages are there for the length of the block, and no longer."""
        with contextlib.ExitStack() as stack, self.namespaces["dut"].entered():
            attachment = Attachment(self, path, stack)
            for stage in path.passing:
                attachment.attach(stage)
            attachment.watch_link()
            yield attachment


def _wait_gone(device: str, events: socket.socket, deadline: float) -> None:
    while device in (name for _, name in socket.if_nameindex()):
        left = deadline - time.monotonic()
        if left <= 0:
            raise NotSettled(f"{device} is still there {_GONE_DEADLINE_S:.0f} s after its namespace was deleted")
        if select.select([events], [], [], left)[0]:
            events.recv(65536)


class Attachment:
    """What one path has added to a testbed, and the counters that see its packets."""

    def __init__(self, testbed: Testbed, path: Path, stack: contextlib.ExitStack) -> None:
        self._testbed = testbed
        self._path = path
        self._stack = stack
        self._sockets: dict[str, Callable[[], int]] = {}
        self._settling: list[Callable[[], None]] = []
        self._programs: dict[str, int] = {}
        self._link: LinkStatistics | None = None
        self.ifindex = socket.if_nametoindex(path.device)
        self.sinks: list[UdpSink] = []

    def watch_link(self) -> None:
        """Keep a link counter reader, if the path has one to read."""
        if any(counter.source == "link" for counter in self.counters()):
            self._link = self._stack.enter_context(LinkStatistics(self.ifindex))

    def counters(self) -> list[Counter]:
        """The counters that a timed call reads: those of the fates, and those that must not move."""
        cheap = [counter for counter in self._path.silent if counter.source != "qdisc"]
        return [fate.counter for fate in self._path.fates if fate.counter.source != "program"] + cheap

    @singledispatchmethod
    def attach(self, stage: Stage) -> None:
        """Add one stage, and see to it that it goes with the block."""
        teardown.push(self._stack, lambda: self._testbed.run(render.undo(stage)))
        self._testbed.run(render.build(stage))

    @attach.register
    def _(self, stage: Classifier) -> None:
        program = bpf.load_program(bpf.SCHED_CLS, programs.go_on(), "perpkt_go_on", bpf.TCX_INGRESS)
        self._stack.callback(os.close, program)
        ifindex = socket.if_nametoindex(stage.device)
        self._programs[stage.hook] = program
        if stage.hook == "tcx":
            self._stack.callback(os.close, bpf.create_link(program, ifindex, bpf.TCX_INGRESS))
        else:
            cls_bpf.attach_ingress(program, ifindex, "perpkt_go_on")

    @attach.register
    def _(self, stage: UdpSocket) -> None:
        sink = UdpSink(stage.address, stage.port, stage.mode)
        self._stack.callback(sink.close)
        self._settling.append(sink.settle)
        self._sockets["received"] = sink.received
        self.sinks.append(sink)

    @attach.register
    def _(self, stage: Tap) -> None:
        tap = PacketTap(stage.device)
        self._stack.callback(tap.close)
        self._settling.append(tap.settle)
        self._sockets["tapped"] = tap.tapped

    def settle(self) -> None:
        """After the warm-up: what it left in queues is taken out, and counting starts."""
        for settle in self._settling:
            settle()

    def snapshot(self, counters: Sequence[Counter]) -> dict[Counter, int]:
        """What each counter says now; one that this kernel does not keep is not in it."""
        snmp = proc.snmp() if any(counter.source == "snmp" for counter in counters) else {}
        found = {counter: self._read(counter, snmp) for counter in counters}
        return {counter: value for counter, value in found.items() if value is not None}

    def _read(self, counter: Counter, snmp: dict[str, int]) -> int | None:
        match counter.source:
            case "snmp":
                return snmp[counter.name]
            case "socket":
                return self._sockets[counter.name]()
            case "bpf":
                return bpf.run_count(self._programs[counter.name])
            case "link":
                return self._read_link(counter.name)
            case "qdisc" | "u32" | "iptables":
                return self._ask_tool(counter)
            case "program":
                raise MeasurementError("the injecting program's count is no second witness")

    def _read_link(self, field: str) -> int:
        statistics = self._link.read() if self._link else {}
        if field not in statistics:
            raise MeasurementError(f"this kernel's link statistics have no {field}: its packets can't be accounted for")
        return statistics[field]

    def _ask_tool(self, counter: Counter) -> int | None:
        if counter.source == "iptables":
            kind, chain = counter.name.split()
            return parse_iptables(run(["iptables-legacy", "-t", "filter", "-nvxL", chain]), kind)
        where, device = counter.name.split()
        with self._testbed.namespaces[where].entered():
            if counter.source == "qdisc":
                return parse_qdisc(run(["tc", "-s", "qdisc", "show", "dev", device, "ingress"]))
            return parse_u32(run(["tc", "-s", "filter", "show", "dev", device, "parent", "ffff:"]))


def parse_iptables(text: str, kind: str) -> int:
    """Packets of a chain's policy, or of its first rule, from `iptables -nvxL CHAIN`."""
    lines = text.splitlines()
    if kind == "policy":
        found = re.search(r"policy \S+ (\d+) packets", lines[0])
        return int(found[1]) if found else 0
    return int(lines[2].split()[0]) if len(lines) > 2 else 0  # noqa: PLR2004 - after chain and heading


def parse_qdisc(text: str) -> int:
    """Packets that an ingress or clsact qdisc saw, from `tc -s qdisc show`."""
    found = re.search(r"Sent \d+ bytes (\d+) pkt", text)
    return int(found[1]) if found else 0


def parse_u32(text: str) -> int | None:
    """Matches of all u32 filters together, from `tc -s filter show`; None without CONFIG_CLS_U32_PERF."""
    hits = re.findall(r"rule hit \d+ success (\d+)", text)
    return sum(int(count) for count in hits) if hits else None
