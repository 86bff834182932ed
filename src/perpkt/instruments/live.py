"""live: the running kernel, in namespaces of its own, in ns/packet."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from perpkt import probe, static_keys
from perpkt.errors import UsageError
from perpkt.inject.live_frames import Holder
from perpkt.kernel import netns, proc
from perpkt.kernel.slab import fragmented_skbs
from perpkt.measure import sizing
from perpkt.measure.call import Caller, Stopwatch
from perpkt.measure.schedule import Group, Slot
from perpkt.measure.session import Session
from perpkt.paths import LADDERS
from perpkt.readings import per_packet
from perpkt.result import Call, Caveat, Heading, Missing, Result, Verification
from perpkt.spec import LARGEST_FRAME_BYTES, SMALLEST_FRAME_BYTES, Path, Plan, by_lasting
from perpkt.stats.location import quiet_mode_median
from perpkt.testbed import Testbed
from perpkt.version import own_version

# Frames up to this size are taken by every kernel that has live frames.
_SURELY_TAKEN_BYTES = 3400
_STEAL = "PERPKT_TEST_STEAL"
_UDP_MEMORY_SHARE = 8
_MOST_HELD_BYTES = 128 << 20


class Observer(Protocol):
    """Who is told as a run goes on; `widest_ns` is the widest interval so far."""

    def verified(self, path: str, done: int, total: int) -> None:
        """One path's packets met their fate."""

    def begun(self, heading: Heading) -> None:
        """Everything is verified; rounds follow."""

    def round_done(self, calls: tuple[Call, ...], session: Session) -> None:
        """One round was measured."""


class Silent:
    """An Observer that does nothing."""

    def verified(self, path: str, done: int, total: int) -> None:
        """Nothing."""

    def begun(self, heading: Heading) -> None:
        """Nothing."""

    def round_done(self, calls: tuple[Call, ...], session: Session) -> None:
        """Nothing."""


class Rounds:
    """The Runner: builds each group's testbed anew, with a freshly loaded injector for the round."""

    def __init__(self, plan: Plan, cpu: int, holder: Holder) -> None:
        self._plan = plan
        self._cpu = cpu
        self._holder = holder
        self._numbers = itertools.count()
        self._random = random.Random(plan.seed)  # noqa: S311 - a state of the slabs, not a secret
        self._stopwatch = Stopwatch()

    def run_round(self, groups: Sequence[Group]) -> tuple[Call, ...]:
        """All calls of a round, in order."""
        others = len(netns.others())
        with self._holder.injector() as injector:
            caller = Caller(self._plan, self._cpu, injector, self._stopwatch, others)
            return tuple(call for group in groups for call in self._run_group(caller, group))

    def _run_group(self, caller: Caller, group: Group) -> list[Call]:
        number = next(self._numbers)
        testbed = Testbed(f"t{number}", group.lasting)
        with testbed.built():
            return list(self._calls(caller, testbed, number, group))

    def _calls(self, caller: Caller, testbed: Testbed, number: int, group: Group) -> Iterator[Call]:
        """The group's calls, with a fresh state of the skb slabs for each pass over its paths.

        Also after a path that frees thousands of queued skbs.
        """
        a_pass = len(set(group.slots))
        with contextlib.ExitStack() as slabs:
            for done, slot in enumerate(group.slots):
                if done % a_pass == 0 or group.slots[done - 1].path.held_bytes:
                    slabs.close()
                    slabs.enter_context(fragmented_skbs(self._random))
                yield caller.timed(testbed, number, slot)


def measure(plan: Plan, unavailable: tuple[Missing, ...] = (), observer: Observer | None = None) -> Result:
    """Verify each path, then measure them in rounds. Observers see each round; so an interrupt loses none."""
    observer = observer or Silent()
    netns.reap()
    with pinned(plan.cpu) as cpu, contextlib.closing(Holder(netns.HOME)) as holder:
        check_frame_bytes(holder, plan.frame_bytes)
        plan = msgspec.structs.replace(plan, cpu=cpu)
        verifications, costs = _verify(plan, cpu, holder, observer)
        heading = Heading(
            perpkt=own_version(),
            measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
            host=probe.host(),
            plan=plan,
            verifications=tuple(verifications),
            same_path=same_path(plan, costs),
            unavailable=unavailable,
            caveats=(*held_keys(), *untraced(verifications)),
        )
        observer.begun(heading)
        result = Result(heading)
        for calls in _rounds(plan, Session(plan, Rounds(plan, cpu, holder), time.monotonic), costs, heading, observer):
            result = result.with_round(calls)
    return result


def _rounds(
    plan: Plan, session: Session, costs: Mapping[str, float], heading: Heading, observer: Observer
) -> Iterator[tuple[Call, ...]]:
    memory = udp_memory_bytes()
    packets = {path.name: sizing.call_packets(path, costs[path.name], plan.batch, memory) for path in plan.paths}
    visits = sizing.visits(plan.time_s, _visit_s(plan, heading, packets, costs), plan.rounds)
    for calls in session.rounds(packets, heading.same_path, visits):
        observer.round_done(calls, session)
        yield calls


def _visit_s(plan: Plan, heading: Heading, packets: Mapping[str, int], costs: Mapping[str, float]) -> float:
    names = [*(path.name for path in plan.paths), *heading.same_path]
    return 1.4 * sum(packets[name] * costs[name] for name in names) / 1e9


def _verify(plan: Plan, cpu: int, holder: Holder, observer: Observer) -> tuple[list[Verification], dict[str, float]]:
    """Each path's packets met their fate, and about what one costs (for sizing only)."""
    verifications: dict[str, Verification] = {}
    costs: dict[str, float] = {}
    steal = os.environ.get(_STEAL)
    with holder.injector(steal=int(steal) if steal else None) as injector:
        caller = Caller(plan, cpu, injector)
        for number, (lasting, members) in enumerate(by_lasting(plan.paths).items()):
            testbed = Testbed(f"v{number}", lasting)
            with testbed.built():
                for path in members:
                    verifications[path.name] = caller.verified(testbed, path)
                    costs[path.name] = _first_cost(caller, testbed, path)
                    observer.verified(path.name, len(verifications), len(plan.paths))
    return [verifications[path.name] for path in plan.paths], costs


def _first_cost(caller: Caller, testbed: Testbed, path: Path) -> float:
    return quiet_mode_median(per_packet(caller.timed(testbed, 0, Slot(path, 0, sizing.SIZING_PACKETS))))


def same_path(plan: Plan, costs: Mapping[str, float]) -> tuple[str, ...]:
    """The A/A pairs: the reference and the dearest path of each ladder that was asked for or is whole."""
    names = [path.name for path in plan.paths]
    whole = [ladder for ladder in LADDERS if ladder.name in plan.ladders or set(ladder.paths) <= set(names)]
    members = [[name for name in ladder.paths if name in names] for ladder in whole]
    dearest = {max(some, key=costs.__getitem__) for some in [*members, names] if some}
    references = {plan.reference, *(ladder.reference for ladder in whole)}
    return tuple(name for name in names if name in references | dearest)


def udp_memory_bytes() -> int:
    """What queued packets may hold: little enough that no other socket goes short."""
    pages = int(proc.read_or("/proc/sys/net/ipv4/udp_mem", "8192 8192 8192").split()[0])
    return min(_MOST_HELD_BYTES, pages * os.sysconf("SC_PAGE_SIZE") // _UDP_MEMORY_SHARE)


def check_cpu(cpu: int | None) -> None:
    """UsageError for a CPU that this process may not run on."""
    allowed = probe.cpus()
    if cpu is not None and cpu not in allowed:
        listed = ", ".join(str(one) for one in sorted(allowed))
        raise UsageError(f"--cpu {str(cpu)[:20]}: this machine lets perpkt run on CPU {listed} only")


@contextlib.contextmanager
def pinned(cpu: int | None) -> Iterator[int]:
    """This thread runs on one CPU: `cpu`, or the last that it may run on (interrupts like the first)."""
    allowed = probe.cpus()
    check_cpu(cpu)
    chosen = max(allowed) if cpu is None else cpu
    os.sched_setaffinity(0, {chosen})
    try:
        yield chosen
    finally:
        os.sched_setaffinity(0, allowed)


def check_frame_bytes(holder: Holder, frame_bytes: int) -> None:
    """UsageError for a frame that this kernel does not take as a live frame, with the largest that it does."""
    if frame_bytes <= _SURELY_TAKEN_BYTES:
        return
    largest = holder.largest_frame_bytes(SMALLEST_FRAME_BYTES, LARGEST_FRAME_BYTES)
    if frame_bytes > largest:
        raise UsageError(f"--frame-bytes {frame_bytes}: the largest live frame of this kernel has {largest} bytes")


def held_keys() -> list[Caveat]:
    """Static keys that others hold on: they cost every path here something too."""
    return [
        Caveat("static-key", f"{held.by} holds {held.key} on, for the whole machine: it is in every figure here")
        for held in static_keys.held_by_others()
    ]


def untraced(verifications: Sequence[Verification]) -> list[Caveat]:
    """That the kernel's own drop reasons are no witness here."""
    if all(one.traced for one in verifications):
        return []
    text = "this kernel's drop reasons could not be read: fates rest on counters alone (perpkt doctor says why)"
    return [Caveat("untraced", text)]
