"""How precise perpkt is on this machine: A/A pairs, a known dial, and rival ways to read the same calls.

    .venv/bin/python bench/precision.py [same-path|dial|all] [--load none|other|same|all] [--runs N]

Without options: both experiments on the machine as it is, about 6 minutes; with --load all, 18.

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
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from perpkt.experiment import make_plan
from perpkt.inject.live_frames import Holder
from perpkt.instruments.live import pinned
from perpkt.readings import Readings
from perpkt.result import Call
from perpkt.wire.programs import DIALS
from rivals import RIVALS, shipped
from rounds import Arm, Recorded, Setting, load, record

COPIES = 9
DEAR_COPIES = 3
LONGEST_S = 40.0
LOOKS_S = (5.0, 10.0, 20.0, 40.0)
DIAL_S = 10.0
CALIBRATION_S = 40.0
RUNS = {"same-path": 3, "dial": 12}


def same_path(setting: Setting) -> None:
    """Coverage and width of A/A intervals, and the error of each estimator, by length of the run."""
    plan = setting.plan
    arms = [
        Arm("reference", plan.path("rx/other-host"), COPIES),
        Arm("u32", plan.path("rx/ingress-u32"), DEAR_COPIES),
        Arm("local", plan.path("rx/udp-no-socket"), DEAR_COPIES),
    ]
    # the dear paths share the time: it is stretched so that the reference gets its calls
    stretch = (COPIES + 2 * DEAR_COPIES) / COPIES
    runs = []
    for number in range(setting.runs):
        with load(setting.load, setting.cpu, 20 + 3 * LONGEST_S * stretch):
            runs.append(record(setting, arms, LONGEST_S * stretch, number))
        print(f"run {number + 1} of {setting.runs}", file=sys.stderr)
    print(f"{np.mean([run.timed_share for run in runs]):.0%} of the time in timed windows")
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


def dial(setting: Setting) -> None:
    """Power and false alarms for a dialled cost near 0.5 ns, and how each estimator reads it."""
    path = setting.plan.path("rx/other-host")
    steps = setting.dials
    calibration = [Arm(f"dial {step}", path, 1, step) for step in (0, *steps)]
    readings = Readings(record(setting, calibration, CALIBRATION_S, 1).rounds)
    costs = {step: shipped(readings.of(f"dial {step}"), readings.of("dial 0")) for step in steps}
    for step, (value, low, high) in costs.items():
        print(f"{DIALS[step]} instructions cost {value:.2f} [{low:.2f}, {high:.2f}] ns")
    chosen = min(steps, key=lambda step: abs(costs[step][0] - 0.5))
    print(f"the dial: {DIALS[chosen]} instructions, {costs[chosen][0]:.2f} ns")
    arms = [Arm("plain", path), Arm("copy", path), Arm("dialled", path, 1, chosen)]
    runs = []
    for number in range(setting.runs):
        with load(setting.load, setting.cpu, 10 + 3 * DIAL_S):
            runs.append(record(setting, arms, DIAL_S, number))
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


EXPERIMENTS = {"same-path": same_path, "dial": dial}
LOADS = ("none", "other", "same")


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=(*EXPERIMENTS, "all"), nargs="?", default="all")
    parser.add_argument("--load", choices=(*LOADS, "all"), default="none")
    parser.add_argument("--runs", type=int, help="default: 3 of same-path, 12 of dial")
    parser.add_argument("--dials", type=int, nargs="+", default=list(range(1, len(DIALS))), help="settings to try")
    options = parser.parse_args()
    plan = make_plan("rx", time_s=LONGEST_S)
    with pinned(None) as cpu, contextlib.closing(Holder("bench")) as holder:
        for kind in LOADS if options.load == "all" else [options.load]:
            for name, experiment in EXPERIMENTS.items():
                if options.experiment in (name, "all"):
                    print(f"\n### {name}, load: {kind}\n", flush=True)
                    runs = options.runs or RUNS[name]
                    experiment(Setting(plan, cpu, holder, kind, runs, options.dials))


if __name__ == "__main__":
    main()
