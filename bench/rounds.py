"""Rounds of the live instrument with arms of the bench's own, beside a neighbour that loads the machine."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from perpkt.inject.live_frames import Holder, LiveFrames
from perpkt.kernel.slab import fragmented_skbs
from perpkt.measure import sizing
from perpkt.measure.call import Caller
from perpkt.measure.schedule import Slot
from perpkt.readings import per_packet
from perpkt.result import Call
from perpkt.spec import Path, Plan
from perpkt.stats.location import quiet_mode_median
from perpkt.testbed import Testbed

VISITS = 2
_BUSY = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
end = time.time() + float(sys.argv[2])
while time.time() < end: pass
"""


@dataclass(frozen=True)
class Setting:
    """What an experiment is done with: `load` the neighbour, `runs` how many, `dials` the settings to calibrate."""

    plan: Plan
    cpu: int
    holder: Holder
    load: str
    runs: int
    dials: Sequence[int]


@dataclass(frozen=True)
class Arm:
    """What is called in a round: a path, under a name of its own, `copies` times, its injector set to `dial`."""

    name: str
    path: Path
    copies: int = 1
    dial: int = 0


@dataclass(frozen=True)
class Recorded:
    """One run: its rounds, and when each ended, in seconds."""

    rounds: list[list[Call]]
    ended_s: list[float]

    @property
    def timed_share(self) -> float:
        """How much of the wall time was inside timed windows."""
        return sum(sum(call.windows_ns) for calls in self.rounds for call in calls) / 1e9 / self.ended_s[-1]


def record(setting: Setting, arms: Sequence[Arm], seconds: float, seed: int) -> Recorded:
    """Rounds of all arms in random order, each with its own testbeds and injector."""
    plan = setting.plan
    bench = Bench(plan, setting.cpu, setting.holder, random.Random(seed))  # noqa: S311 - an order, not a secret
    # one round that only finds out how long a call must be
    packets = _sized(
        plan, arms, list(bench.round(arms, dict.fromkeys((arm.name for arm in arms), sizing.PROBE_PACKETS)))
    )
    recorded = Recorded([], [])
    start = time.monotonic()
    while not recorded.ended_s or recorded.ended_s[-1] < seconds:
        recorded.rounds.append(list(bench.round(arms, packets)))
        recorded.ended_s.append(time.monotonic() - start)
    return recorded


def _sized(plan: Plan, arms: Sequence[Arm], calls: Sequence[Call]) -> dict[str, int]:
    costs = {call.path: quiet_mode_median(per_packet(call)) for call in calls}
    return {arm.name: sizing.call_packets(arm.path, costs[arm.name], plan.batch, 1 << 28) for arm in arms}


@dataclass(frozen=True)
class Bench:
    """What makes the rounds, as the live instrument does; arms may dial its injector."""

    plan: Plan
    cpu: int
    holder: Holder
    generator: random.Random

    def round(self, arms: Sequence[Arm], packets: dict[str, int]) -> Iterator[Call]:
        """One round's calls, named after their arms."""
        with self.holder.injector(dialled=any(arm.dial for arm in arms)) as injector:
            layouts = {arm.path.lasting for arm in arms}
            for lasting in self.generator.sample(sorted(layouts, key=str), len(layouts)):
                testbed = Testbed("b", lasting)
                with testbed.built():
                    for _ in range(VISITS):
                        yield from self._pass(
                            testbed, injector, [arm for arm in arms if arm.path.lasting == lasting], packets
                        )

    def _pass(
        self, testbed: Testbed, injector: LiveFrames, arms: Sequence[Arm], packets: dict[str, int]
    ) -> Iterator[Call]:
        """Each arm of the testbed once for each of its copies, with a state of the skb slabs of its own."""
        slots = [(arm, copy) for arm in arms for copy in range(arm.copies)]
        with fragmented_skbs(self.generator):
            for arm, copy in self.generator.sample(slots, len(slots)):
                injector.dial = arm.dial
                slot = Slot(arm.path, copy, packets[arm.name])
                call = Caller(self.plan, self.cpu, injector).timed(testbed, 0, slot)
                yield msgspec.structs.replace(call, path=arm.name)


@contextlib.contextmanager
def load(kind: str, cpu: int, seconds: float) -> Iterator[None]:
    """A busy loop on the measuring CPU ("same") or on another ("other"), which ends by itself."""
    if kind == "none":
        yield
        return
    where = cpu if kind == "same" else min(set(range(64)) - {cpu})
    busy = subprocess.Popen([sys.executable, "-c", _BUSY, str(where), str(seconds)])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()
