"""Known answers: N u32 filters that do not match cost N times what one costs.

    .venv/bin/python bench/known_answers.py [--time S] [--filters N ...]

Fits a line to the cost over N, gives its slope with its 95 % interval (rounds are the clusters),
and says of each point whether it lies within max(2 ns, 3 %) of the line. Ends with 1 if one does
not. Needs root.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import msgspec
import numpy as np

from perpkt.experiment import make_plan
from perpkt.instruments import choose
from perpkt.paths import find
from perpkt.readings import Readings
from perpkt.result import Result
from perpkt.spec import U32, Path, Plan, Qdisc
from perpkt.stats.interval import bootstrap_t
from perpkt.stats.location import Floats, trimmed_mean

FILTERS = (1, 2, 5, 10, 20, 50, 100)
# UDP frames are sent: a filter on TCP never matches
_NEVER = "ip protocol 6 0xff"


def path_with(count: int) -> Path:
    """rx/ingress with that many filters that do not match."""
    base = find("rx/ingress")
    assert isinstance(base, Path)
    stages = (*base.lasting, Qdisc("v0"), U32("v0", _NEVER, count))
    return msgspec.structs.replace(base, name=f"rx/ingress-u32-{count}", stages=stages)


def plan_for(counts: Sequence[int], time_s: float) -> Plan:
    """One path for each number of filters; the reference is an empty qdisc."""
    plan = make_plan(["rx/ingress"], time_s=time_s)
    return msgspec.structs.replace(plan, paths=(*plan.paths, *map(path_with, counts)))


def costs(result: Result, counts: Sequence[int]) -> Floats:
    """ns/packet, one row a round, one column for each number of filters; rounds with a disturbed path left out."""
    readings = Readings(result.rounds)
    table = np.stack([readings.of(f"rx/ingress-u32-{count}") for count in counts], axis=1)
    kept: Floats = table[~np.isnan(table).any(axis=1)]
    return kept


def fit(counts: Sequence[int], table: Floats) -> tuple[tuple[float, float, float], Floats]:
    """The slope's value, low and high in ns a filter, and the line at each point."""
    x = np.asarray(counts, dtype=float)
    slopes = np.array([np.polyfit(x, row, 1)[0] for row in table])
    slope, intercept = np.polyfit(x, trimmed_mean(table.T), 1)
    line: Floats = slope * x + intercept
    return bootstrap_t(slopes), line


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", type=float, default=30.0)
    parser.add_argument("--filters", type=int, nargs="+", default=list(FILTERS))
    options = parser.parse_args()
    table = costs(choose.measure(plan_for(options.filters, options.time)), options.filters)
    (slope, low, high), line = fit(options.filters, table)
    print(f"{slope:.2f} [{low:.2f}, {high:.2f}] ns a filter that does not match, {len(table)} rounds\n")
    print("| filters | ns/packet | the line | off by, ns | allowed, ns |\n|---:|---:|---:|---:|---:|")
    held = True
    for count, cost, on_line in zip(options.filters, trimmed_mean(table.T), line, strict=True):
        allowed = max(2.0, 0.03 * on_line)
        held = held and abs(cost - on_line) <= allowed
        print(f"| {count} | {cost:.1f} | {on_line:.1f} | {cost - on_line:+.1f} | {allowed:.1f} |")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
