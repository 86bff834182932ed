"""The loop: rounds until the time is up, the rounds are made, or the intervals are narrow enough."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from perpkt.analysis import widest_ns
from perpkt.kernel import signals
from perpkt.measure.schedule import Group, round_order
from perpkt.readings import Readings
from perpkt.result import Call
from perpkt.spec import Plan

# The shares of the time, or of the rounds, after which --precision is looked at: few and fixed, since a look
# whenever one likes would stop at intervals that are narrow by chance.
LOOKS = (0.125, 0.25, 0.5)
FEWEST_ROUNDS = 2


class Runner(Protocol):
    """What makes the calls of one round: the live instrument's, or a scripted one."""

    def run_round(self, groups: Sequence[Group]) -> tuple[Call, ...]:
        """Build a testbed for each group, make its calls in order, take it away."""


class Session:
    """One plan being measured. `clock` gives seconds."""

    def __init__(self, plan: Plan, runner: Runner, clock: Callable[[], float]) -> None:
        self._plan = plan
        self._runner = runner
        self._clock = clock
        self._random = random.Random(plan.seed)  # noqa: S311 - an order, not a secret
        self.readings = Readings()

    def rounds(self, packets: Mapping[str, int], same_path: Sequence[str], visits: int) -> Iterator[tuple[Call, ...]]:
        """Each round as it ends, never one that would not end in time (but two in any case)."""
        start = self._clock()
        looks = list(LOOKS)
        while not self._is_over(self._clock() - start, looks):
            signals.check()
            order = round_order(self._plan.paths, same_path, packets, visits, self._random)
            calls = self._runner.run_round(order)
            self.readings.add(calls)
            yield calls

    def _is_over(self, elapsed_s: float, looks: list[float]) -> bool:
        done, plan = self.readings.rounds, self._plan
        if plan.rounds is not None and done >= plan.rounds:
            return True
        if done < FEWEST_ROUNDS:
            return False
        if elapsed_s * (done + 1) / done > plan.time_s:
            return True
        return self._is_precise(max(elapsed_s / plan.time_s, done / (plan.rounds or math.inf)), looks)

    def _is_precise(self, share: float, looks: list[float]) -> bool:
        if self._plan.precision_ns is None or not looks or share < looks[0]:
            return False
        looks[:] = [look for look in looks if look > share]
        return widest_ns(self._plan, self.readings) <= self._plan.precision_ns
