"""One injection on one testbed: arm, warm up, inject, read, account."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from perpkt.errors import HostError, MeasurementError, WrongFate
from perpkt.inject.live_frames import WINDOW_PACKETS, Injection, LiveFrames
from perpkt.kernel import bpf, proc, signals
from perpkt.kernel.drop_reasons import DropReasons, netns_cookie
from perpkt.measure import account, sizing
from perpkt.measure.schedule import Slot
from perpkt.result import Call, Verification
from perpkt.spec import Counter, Path, Plan
from perpkt.testbed import Attachment, Testbed
from perpkt.wire.frame import OTHER_HOST_MAC, udp_frame

# Calls that signals end early are made again, but not for ever.
_ATTEMPTS = 5


def frames(path: Path, frame_bytes: int) -> tuple[bytes, bytes]:
    """The two frames that are sent in turn: they differ in the destination address."""
    flow, veth = path.flow, path.veth
    macs = (veth.mac if flow.to == "device" else OTHER_HOST_MAC, veth.peer_mac)
    ports = (flow.destination_port, flow.source_port)
    first, second = (udp_frame(macs, (to, flow.source), ports, frame_bytes) for to in flow.destinations)
    return first, second


@dataclass(frozen=True, slots=True)
class Readout:
    """What the counters, and the kernel's drop reasons, say at one moment; or by how much they went up."""

    counters: dict[Counter, int]
    reasons: dict[str, int] = field(default_factory=dict)

    def __sub__(self, before: Readout) -> Readout:
        reasons = {reason: count - before.reasons.get(reason, 0) for reason, count in self.reasons.items()}
        return Readout(
            {counter: count - before.counters[counter] for counter, count in self.counters.items()},
            {reason: count for reason, count in reasons.items() if count},
        )


@dataclass(frozen=True, slots=True)
class Counted:
    """An injection, what it moved, and switches, steal and interrupts before and after it."""

    injection: Injection
    moved: Readout
    disturbed: tuple[tuple[int, int, int], tuple[int, int, int]]


class Stopwatch:
    """Wall time between calls, so that what their testbeds cost is in a run's duration."""

    def __init__(self) -> None:
        self._last_ns = time.monotonic_ns()

    def lap_ns(self) -> int:
        """Since the last lap, or the start."""
        now = time.monotonic_ns()
        lap, self._last_ns = now - self._last_ns, now
        return lap


class Caller:
    """Makes calls for one plan on one CPU; `injector` is the present round's, `others` the runs beside this one."""

    def __init__(
        self, plan: Plan, cpu: int, injector: LiveFrames, stopwatch: Stopwatch | None = None, others: int = 0
    ) -> None:
        self._plan = plan
        self._cpu = cpu
        self._injector = injector
        self._stopwatch = stopwatch or Stopwatch()
        self._others = others

    def timed(self, testbed: Testbed, number: int, slot: Slot) -> Call:
        """Attach the path, send its frames, account for each of them, take it away."""
        path = slot.path
        signals.check()
        with testbed.attached(path) as attachment:
            counters = attachment.counters()
            counted = self._counted(path, attachment, slot.packets, lambda: Readout(attachment.snapshot(counters)))
            fate = account.fate(path, counted.injection.sent, slot.packets, counted.moved.counters)
        switches, steal, interrupts = (now - then for then, now in zip(*counted.disturbed, strict=True))
        return Call(
            path=path.name,
            testbed=number,
            sent=counted.injection.sent,
            fate=fate,
            elapsed_ns=self._stopwatch.lap_ns(),
            window_packets=WINDOW_PACKETS,
            windows_ns=counted.injection.windows_ns,
            copy=slot.copy,
            switches=switches,
            steal_ms=10 * steal,
            interrupts=interrupts,
            others=self._others,
        )

    def _counted(self, path: Path, attachment: Attachment, packets: int, read: Callable[[], Readout]) -> Counted:
        """One whole injection between two readouts; one that a signal cut short is made again."""
        pair = frames(path, self._plan.frame_bytes)
        batch, verdict = self._plan.batch, path.verdict
        for _ in range(_ATTEMPTS):
            self._injector.inject(pair, attachment.ifindex, sizing.WARM_UP_PACKETS, batch, verdict)
            attachment.settle()
            before, disturbed = read(), self._disturbances()
            injection = self._injector.inject(pair, attachment.ifindex, packets, batch, verdict)
            if injection is not None:
                after, now = read(), self._disturbances()
                return Counted(injection, after - before, (disturbed, now))
        raise MeasurementError(
            f"{path.name}: each call was ended early by a signal: stop what sends them, or try again"
        )

    def _disturbances(self) -> tuple[int, int, int]:
        return proc.involuntary_switches(), proc.steal_ticks(self._cpu), proc.interrupts(self._cpu)

    def verified(self, testbed: Testbed, path: Path) -> Verification:
        """Send a few thousand frames with every witness on; raises WrongFate or PacketsLost."""
        packets = sizing.PROBE_PACKETS
        signals.check()
        with testbed.attached(path) as attachment:
            counters = [*attachment.counters(), *path.crossed, *path.silent]
            with _run_statistics(path), _drop_reasons() as tracer:

                def read() -> Readout:
                    return Readout(attachment.snapshot(counters), tracer.counts() if tracer else {})

                counted = self._counted(path, attachment, packets, read)
            fate = account.fate(path, counted.injection.sent, packets, counted.moved.counters)
            crossed = account.check_crossed(path, packets, counted.moved.counters)
            reasons = counted.moved.reasons
            if tracer:
                account.check_drop_reasons(path, fate, reasons)
            _check_tracked(path)
            _check_drained(path, attachment, fate)
        witness = {one.reason: str(one.counter) for one in path.fates}
        return Verification(path.name, packets, fate, witness, crossed, reasons, traced=tracer is not None)


@contextlib.contextmanager
def _run_statistics(path: Path) -> Iterator[None]:
    """Program runs are counted, if a counter of the path needs it: it costs every program on the machine some time."""
    if not any(counter.source == "bpf" for counter in path.crossed):
        yield
        return
    descriptor = bpf.enable_run_statistics()
    try:
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _drop_reasons() -> Iterator[DropReasons | None]:
    """The kernel's own witness of drops in this namespace; None where this kernel can't be asked."""
    with contextlib.ExitStack() as stack:
        try:
            tracer = stack.enter_context(DropReasons(netns_cookie()))
        except HostError:
            tracer = None
        yield tracer


def _check_tracked(path: Path) -> None:
    if not path.tracked:
        return
    entries = int(proc.read("/proc/sys/net/netfilter/nf_conntrack_count"))
    if entries != len(path.flow.destinations):
        raise WrongFate(f"{path.name}: conntrack holds {entries} entries for {len(path.flow.destinations)} flows")


def _check_drained(path: Path, attachment: Attachment, fate: dict[str, int]) -> None:
    """The second witness of a queue: read it to its end."""
    if "queued" not in fate:
        return
    drained = sum(sink.drained() for sink in attachment.sinks)
    if drained != fate["queued"]:
        raise WrongFate(f"{path.name}: {fate['queued']:,} packets were queued, and {drained:,} could be read")
