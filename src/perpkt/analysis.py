"""Result -> Estimates and Caveats: the one place that says how a cost is read from calls.

A call's location is the median of its quiet mode: of the windows at most 4 % over their 2 %
quantile. Calls that were disturbed as a whole are left out: those more than 4 % over the low end of
all calls of the path. What is left is
averaged within a round (whose testbeds and programs are its own), and rounds are the clusters
that intervals are made from. Differences are paired within rounds. Why: docs/method.md.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from perpkt.errors import TooNoisy
from perpkt.readings import Locator, Readings, per_packet
from perpkt.result import Caveat, Estimate, Missing, Result
from perpkt.spec import Path, Plan, Record
from perpkt.stats import location
from perpkt.stats.interval import bootstrap_t
from perpkt.stats.location import Floats

# With fewer quiet windows than this share, what looks quiet is chance.
_TOO_FEW_QUIET = 0.03
_REMEDY = "end what else runs on this machine, or take another --cpu"
# Steal, and involuntary switches a second, that are worth a word.
_MUCH_STEAL, _MANY_SWITCHES = 0.02, 100.0
# What the smallest difference seen with 80 % power is, in half widths of a 95 % interval:
# (1.96 + 0.84) / 1.96.
_POWER_FACTOR = 1.43
# Candidates for the estimator may differ by this much, or this share of the difference, or an
# interval's width, before that is a reason to doubt.
_AGREEMENT_NS, _AGREEMENT_SHARE = 0.5, 0.01
_FEW_QUIET = 0.25

_CANDIDATES: dict[str, Locator] = {
    "5 % quantile": lambda windows: location.low_quantile(windows, 0.05),
    "10 % quantile": lambda windows: location.low_quantile(windows, 0.10),
    "25 % quantile": lambda windows: location.low_quantile(windows, 0.25),
}


class Row(Record, frozen=True):
    """What is said of one path. Costs in ns/packet; `step` is to the rung before, `difference` to the reference.

    `typical_ns`: the median of all windows, disturbed ones too. `rate_pps`: 1e9 / cost.
    `sent`, `fate`: packets of the timed calls, `witness`: who counted each reason.
    """

    name: str
    summary: str
    cost: Estimate
    typical_ns: float
    rate_pps: float
    difference: Estimate | None
    step: Estimate | None
    sent: int
    fate: dict[str, int]
    witness: dict[str, str]
    road: str
    quiet_share: float


class SamePath(Record, frozen=True):
    """The A/A pair: the same path measured as if it were two."""

    name: str
    difference: Estimate


class Summary(Record, frozen=True):
    """All that a report says. `resolution_ns`: the smallest difference that this run could have seen (80 % power)."""

    reference: str
    rows: tuple[Row, ...]
    same_path: tuple[SamePath, ...]
    resolution_ns: float
    quiet_share: float
    rounds: int
    testbeds: int
    duration_s: float
    timed_share: float
    unavailable: tuple[Missing, ...]
    caveats: tuple[Caveat, ...]


def _estimate(values: Floats) -> Estimate:
    return Estimate(*bootstrap_t(values[~np.isnan(values)]))


def _names(plan: Plan, readings: Readings) -> list[str]:
    return [path.name for path in plan.paths if readings.quiet_calls(path.name) > 0]


def _quiet_windows(result: Result, readings: Readings, name: str) -> float:
    """The share of a path's windows that are at most QUIET_ABOVE over its cost."""
    limit = (1 + location.QUIET_ABOVE) * _estimate(readings.of(name)).value
    windows = np.concatenate([per_packet(call) for call in result.calls if call.path == name])
    return float(np.mean(windows <= limit))


def _same_path(readings: Readings, name: str) -> Estimate:
    return _estimate(readings.of(name, 0) - readings.of(name, 1))


def _too_noisy(reference: str, shares: Mapping[str, float]) -> tuple[Missing, ...]:
    """The paths whose cost can't be read; TooNoisy if the reference is among them, or nothing is left."""
    reasons = {
        name: f"only {share:.1%} of its windows ran undisturbed, so its cost can't be read"
        for name, share in shares.items()
        if share < _TOO_FEW_QUIET
    }
    if reference in reasons or len(reasons) == len(shares):
        name = reference if reference in reasons else next(iter(shares))
        raise TooNoisy(f"{name}: {reasons[name]}: {_REMEDY}")
    return tuple(Missing(name, reason, _REMEDY) for name, reason in reasons.items())


def widest_ns(plan: Plan, readings: Readings) -> float:
    """The widest interval of all differences so far, to the rung before and to the reference."""
    names = _names(plan, readings)
    pairs = sorted(_comparisons(names, plan.reference))
    estimates = [_estimate(readings.of(name) - readings.of(other)) for name, other in pairs]
    estimates += [_same_path(readings, name) for name in names if readings.is_pair(name)]
    return max((estimate.width for estimate in estimates), default=math.inf)


def _comparisons(names: list[str], reference: str) -> set[tuple[str, str]]:
    steps = set(zip(names[1:], names, strict=False))
    return steps | {(name, reference) for name in names if name != reference and reference in names}


def summarise(result: Result) -> Summary:
    """The estimates and caveats of a result; TooNoisy where no cost can be read."""
    plan, calls = result.heading.plan, result.calls
    readings = Readings(result.rounds)
    names = _names(plan, readings)
    if not names:
        raise TooNoisy("nothing was measured: not one round was completed; give it more --time")
    shares = {name: _quiet_windows(result, readings, name) for name in names}
    noisy = _too_noisy(plan.reference, shares)
    names = [name for name in names if name not in {one.name for one in noisy}]
    befores = zip(names, [None, *names], strict=False)
    rows = tuple(_row(result, readings, name, before, shares[name]) for name, before in befores)
    pairs = tuple(SamePath(name, _same_path(readings, name)) for name in names if readings.is_pair(name))
    return Summary(
        reference=plan.reference,
        rows=rows,
        same_path=pairs,
        resolution_ns=_resolution(rows),
        quiet_share=min(row.quiet_share for row in rows),
        rounds=len(result.rounds),
        testbeds=len({call.testbed for call in calls}),
        duration_s=result.duration_s,
        timed_share=_timed_share(result),
        unavailable=(*result.heading.unavailable, *noisy),
        caveats=(*result.heading.caveats, *_caveats(result, readings, rows, pairs)),
    )


def _row(result: Result, readings: Readings, name: str, before: str | None, quiet_share: float) -> Row:
    plan = result.heading.plan
    path = plan.path(name)
    calls = [call for call in result.calls if call.path == name]
    windows = np.concatenate([per_packet(call) for call in calls])
    own = readings.of(name)
    cost = _estimate(own)
    has_difference = plan.reference != name and readings.quiet_calls(plan.reference) > 0
    return Row(
        name=name,
        summary=path.summary,
        cost=cost,
        typical_ns=float(np.median(windows)),
        rate_pps=1e9 / cost.value,
        difference=_estimate(own - readings.of(plan.reference)) if has_difference else None,
        step=_estimate(own - readings.of(before)) if before else None,
        sent=sum(call.sent for call in calls),
        fate=_totals(call.fate for call in calls),
        witness={fate.reason: str(fate.counter) for fate in path.fates},
        road=road(path, plan.batch),
        quiet_share=quiet_share,
    )


def road(path: Path, batch: int) -> str:
    """How the frames enter the stack."""
    if path.verdict == "drop":
        return f"batch {batch}, dropped before the stack"
    return f"list receive, batch {batch}, route hint {path.route_hint}, no GRO on this road"


def _totals(fates: Iterable[dict[str, int]]) -> dict[str, int]:
    totals: defaultdict[str, int] = defaultdict(int)
    for fate in fates:
        for reason, count in fate.items():
            totals[reason] += count
    return dict(totals)


def _resolution(rows: Sequence[Row]) -> float:
    widths = [row.difference.width for row in rows if row.difference and math.isfinite(row.difference.width)]
    return _POWER_FACTOR * float(np.median(widths)) / 2 if widths else math.inf


def _timed_share(result: Result) -> float:
    total = result.duration_s
    return sum(sum(call.windows_ns) for call in result.calls) / 1e9 / total if total else math.nan


def _caveats(result: Result, readings: Readings, rows: Sequence[Row], pairs: Sequence[SamePath]) -> Iterable[Caveat]:
    yield from _disagreements(result, rows)
    yield from _disturbances(result)
    few = [row.name for row in rows if not math.isfinite(row.cost.width)]
    if few:
        about = few[0] if len(few) == 1 else ""
        yield Caveat("few-rounds", "too few quiet rounds for intervals: give it more --time", about)
    for pair in pairs:
        if not pair.difference.holds_zero:
            text = (
                f"the same path twice differs by {pair.difference.value:+.2f} ns: differences of that size mean nothing"
            )
            yield Caveat("same-path", text, pair.name)
    for row in rows:
        share = readings.quiet_calls(row.name)
        if share < _FEW_QUIET:
            text = f"only {share:.0%} of its calls ran undisturbed: the machine was busy with something else"
            yield Caveat("few-quiet", text, row.name)


def _disturbances(result: Result) -> Iterable[Caveat]:
    """Who else took the CPU or the machine."""
    calls, duration_s = result.calls, result.duration_s
    if any(call.others for call in calls):
        yield Caveat(
            "another-run", "another perpkt measured on this machine at the same time: the two disturbed each other"
        )
    steal = sum(call.steal_ms for call in calls) / 1e3 / duration_s
    if steal > _MUCH_STEAL:
        yield Caveat("steal", f"the hypervisor gave {steal:.0%} of the time to other guests")
    switches = sum(call.switches for call in calls) / duration_s
    if switches > _MANY_SWITCHES:
        yield Caveat(
            "busy-cpu", f"other programs took this CPU {switches:.0f} times a second: another --cpu may be quieter"
        )


def _disagreements(result: Result, rows: Sequence[Row]) -> Iterable[Caveat]:
    """Where other readings of the same calls would have given another difference."""
    reference = result.heading.plan.reference
    others = {name: Readings(result.rounds, locate) for name, locate in _CANDIDATES.items()}
    for row in rows:
        if row.difference is None or not math.isfinite(row.difference.width):
            continue
        limit = max(_AGREEMENT_NS, row.difference.width, _AGREEMENT_SHARE * abs(row.difference.value))
        for name, readings in others.items():
            value = _estimate(readings.of(row.name) - readings.of(reference)).value
            if abs(value - row.difference.value) > limit:
                text = f"read by the {name} of the windows, its difference would be {value:+.1f} ns"
                yield Caveat("estimators-disagree", f"{text}, not {row.difference.value:+.1f}", row.name)
                break
