"""How precise perpkt is on this machine: A/A pairs, a known dial, and rival ways to read the same calls.

    .venv/bin/python bench/precision.py same-path [--load none|other|same] [--runs N]
    .venv/bin/python bench/precision.py dial      [--load none|other|same] [--runs N]

same-path: runs of 40 s in which one path stands nine times (as many calls as the ingress ladder
makes). Any two of the nine are an A/A pair: their difference is 0. How often the 95 % interval
misses it, and how wide it is, after 5, 10, 20 and 40 s.

dial: runs of 10 s with an injecting program that can be made dearer by some instructions: as it is
(twice, as an A/A pair) and dialled by about 0.5 ns, which a longer run finds out first. Power is how
often the dial was found, false alarms how often the copy was. All from one image of the program: two
images would differ by where they stand in the XDP dispatcher.

A load is a busy loop on another core, or on the measuring one. Needs root.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from perpkt.analysis import Readings, per_packet
from perpkt.experiment import make_plan
from perpkt.inject.live_frames import Holder
from perpkt.instruments.live import pinned
from perpkt.measure import sizing
from perpkt.measure.call import Caller
from perpkt.measure.schedule import Slot
from perpkt.result import Call
from perpkt.spec import Path, Plan
from perpkt.stats import location
from perpkt.stats.interval import bootstrap_t
from perpkt.stats.location import Floats
from perpkt.testbed import Testbed
from perpkt.wire.programs import DIALS

COPIES = 9
DEAR_COPIES = 3
LONGEST_S = 40.0
LOOKS_S = (5.0, 10.0, 20.0, 40.0)
DIAL_S = 10.0
CALIBRATION_S = 40.0
VISITS = 2
_BUSY = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
end = time.time() + float(sys.argv[2])
while time.time() < end: pass
"""


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


def record(plan: Plan, cpu: int, holder: Holder, arms: Sequence[Arm], run: tuple[float, int]) -> Recorded:
    """Rounds of all arms in random order, each with its own testbeds and injectors; `run`: seconds and seed."""
    seconds, seed = run
    generator = random.Random(seed)  # noqa: S311 - an order, not a secret
    bench = Bench(plan, cpu, holder, generator)
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
    costs = {call.path: location.quiet_mode_median(per_packet(call)) for call in calls}
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
                slots = [(arm, copy) for arm in arms if arm.path.lasting == lasting for copy in range(arm.copies)]
                testbed = Testbed("b", lasting)
                with testbed.built():
                    for arm, copy in (slot for _ in range(VISITS) for slot in self.generator.sample(slots, len(slots))):
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


def shipped(a: Floats, b: Floats) -> tuple[float, float, float]:
    """Value, low, high of a difference as `perpkt run` gives them."""
    paired = a - b
    return bootstrap_t(paired[~np.isnan(paired)])


Estimator = Callable[[list[list[Call]], tuple[str, int], tuple[str, int]], float]


def _paired(locate: Callable[[Floats], float]) -> Estimator:
    def estimate(rounds: list[list[Call]], a: tuple[str, int], b: tuple[str, int]) -> float:
        readings = Readings(rounds, locate)
        return shipped(readings.of(*a), readings.of(*b))[0]

    return estimate


def _pooled(share: float) -> Estimator:
    def windows(rounds: list[list[Call]], which: tuple[str, int]) -> Floats:
        return np.concatenate(
            [per_packet(call) for calls in rounds for call in calls if (call.path, call.copy) == which]
        )

    def estimate(rounds: list[list[Call]], a: tuple[str, int], b: tuple[str, int]) -> float:
        return location.low_quantile(windows(rounds, a), share) - location.low_quantile(windows(rounds, b), share)

    return estimate


RIVALS: dict[str, Estimator] = {
    "pooled 2 % quantile": _pooled(0.02),
    "pooled 5 % quantile": _pooled(0.05),
    "pooled 10 % quantile": _pooled(0.10),
    "pooled median": _pooled(0.50),
    "paired calls, 2 % quantile": _paired(lambda windows: location.low_quantile(windows, 0.02)),
    "paired calls, 10 % quantile": _paired(lambda windows: location.low_quantile(windows, 0.1)),
    "paired calls, 25 % quantile": _paired(lambda windows: location.low_quantile(windows, 0.25)),
    "paired calls, median of the quiet mode (shipped)": _paired(location.quiet_mode_median),
    "paired calls, median": _paired(lambda windows: location.low_quantile(windows, 0.5)),
}


def same_path(plan: Plan, cpu: int, holder: Holder, options: argparse.Namespace) -> None:
    """Coverage and width of A/A intervals, and the error of each estimator, by length of the run."""
    arms = [
        Arm("reference", plan.path("rx/other-host"), COPIES),
        Arm("u32", plan.path("rx/ingress-u32"), DEAR_COPIES),
        Arm("local", plan.path("rx/udp-no-socket"), DEAR_COPIES),
    ]
    # the dear paths share the time: it is stretched so that the reference gets its calls
    stretch = (COPIES + 2 * DEAR_COPIES) / COPIES
    runs = []
    for number in range(options.runs):
        with load(options.load, cpu, 20 + 3 * LONGEST_S * stretch):
            runs.append(record(plan, cpu, holder, arms, (LONGEST_S * stretch, number)))
        print(f"run {number + 1} of {options.runs}: {runs[-1].timed_share:.0%} in timed windows", file=sys.stderr)
    _print_coverage(runs, stretch)
    _print_rivals(runs, stretch)


def _pieces(runs: Sequence[Recorded], seconds: float, stretch: float) -> Iterator[list[list[Call]]]:
    """Each run cut into as many runs of that length as it holds."""
    for run in runs:
        whole = len(run.rounds)
        count = max(1, round(LONGEST_S / seconds))
        for first in range(count):
            yield run.rounds[first * whole // count : (first + 1) * whole // count]


def _print_coverage(runs: Sequence[Recorded], stretch: float) -> None:
    print("\n| path | run | pairs | misses of 95 % interval | median width, ns | rms error, ns | largest, ns |")
    print("|:---|---:|---:|---:|---:|---:|---:|")
    for name, copies in (("reference", COPIES), ("u32", DEAR_COPIES), ("local", DEAR_COPIES)):
        for seconds in LOOKS_S:
            found = [
                shipped(readings.of(name, a), readings.of(name, b))
                for readings in map(Readings, _pieces(runs, seconds, stretch))
                for a, b in itertools.combinations(range(copies), 2)
            ]
            values, low, high = (np.array(column) for column in zip(*found, strict=True))
            misses = int(np.sum((low > 0) | (high < 0)))
            print(
                f"| {name} | {seconds:.0f} s | {len(found)} | {misses} ({misses / len(found):.1%}) "
                f"| {np.median(high - low):.2f} | {np.sqrt(np.mean(values**2)):.2f} | {np.max(np.abs(values)):.2f} |"
            )


def _print_rivals(runs: Sequence[Recorded], stretch: float) -> None:
    print("\n| estimator, 20 s | A/A ref | A/A u32 | A/A local | u32 - reference, spread | local - reference, spread |")
    print("|:---|---:|---:|---:|---:|---:|")
    pieces = list(_pieces(runs, 20.0, stretch))
    for name, estimate in RIVALS.items():
        errors = [
            float(np.sqrt(np.mean([estimate(piece, (path, 0), (path, 1)) ** 2 for piece in pieces])))
            for path in ("reference", "u32", "local")
        ]
        spreads = [
            float(np.std([estimate(piece, (path, 0), ("reference", 0)) for piece in pieces], ddof=1))
            for path in ("u32", "local")
        ]
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in [*errors, *spreads]) + " |")


def dial(plan: Plan, cpu: int, holder: Holder, options: argparse.Namespace) -> None:
    """Power and false alarms for a dialled cost near 0.5 ns, and how each estimator reads it."""
    path = plan.path("rx/other-host")
    steps = options.dials
    calibration = [Arm(f"dial {step}", path, 1, step) for step in (0, *steps)]
    readings = Readings(record(plan, cpu, holder, calibration, (CALIBRATION_S, 1)).rounds)
    costs = {step: shipped(readings.of(f"dial {step}"), readings.of("dial 0")) for step in steps}
    for step, (value, low, high) in costs.items():
        print(f"{DIALS[step]} instructions cost {value:.2f} [{low:.2f}, {high:.2f}] ns")
    chosen = min(steps, key=lambda step: abs(costs[step][0] - 0.5))
    print(f"the dial: {DIALS[chosen]} instructions, {costs[chosen][0]:.2f} ns")
    arms = [Arm("plain", path), Arm("copy", path), Arm("dialled", path, 1, chosen)]
    runs = []
    for number in range(options.runs):
        with load(options.load, cpu, 10 + 3 * DIAL_S):
            runs.append(record(plan, cpu, holder, arms, (DIAL_S, number)))
    _print_dial(runs)


def _print_dial(runs: Sequence[Recorded]) -> None:
    rows = [Readings(run.rounds) for run in runs]
    found = [shipped(one.of("dialled"), one.of("plain")) for one in rows]
    alarms = [shipped(one.of("copy"), one.of("plain")) for one in rows]
    share = float(np.mean([run.timed_share for run in runs]))
    print(f"\n{len(runs)} runs of {DIAL_S:.0f} s, {share:.0%} in timed windows")
    print(f"found: {np.mean([low > 0 for _, low, _ in found]):.0%} of the runs")
    print(f"false alarms: {np.mean([low > 0 or high < 0 for _, low, high in alarms]):.0%}")
    print("\n| estimator | the dial reads, mean | spread | the copy reads, rms |\n|:---|---:|---:|---:|")
    for name, estimate in RIVALS.items():
        values = np.array([estimate(run.rounds, ("dialled", 0), ("plain", 0)) for run in runs])
        copies = np.array([estimate(run.rounds, ("copy", 0), ("plain", 0)) for run in runs])
        spread = values.std(ddof=1)
        print(f"| {name} | {values.mean():.2f} | {spread:.2f} | {np.sqrt(np.mean(copies**2)):.2f} |")


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=("same-path", "dial"))
    parser.add_argument("--load", choices=("none", "other", "same"), default="none")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--dials", type=int, nargs="+", default=list(range(1, len(DIALS))), help="settings to try")
    options = parser.parse_args()
    plan = make_plan(["rx"], time_s=LONGEST_S)
    print(f"\n### {options.experiment}, load: {options.load}\n")
    with pinned(None) as cpu, contextlib.closing(Holder("bench")) as holder:
        {"same-path": same_path, "dial": dial}[options.experiment](plan, cpu, holder, options)


if __name__ == "__main__":
    main()
