"""analysis: known costs under known disturbance come back, and doubts appear when they must."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import pytest

from perpkt import analysis
from perpkt.analysis import Row, Summary, summarise, widest_ns
from perpkt.errors import TooNoisy
from perpkt.readings import Readings
from perpkt.result import Call, Result
from perpkt.stats.location import Floats
from perpkt.testing import sample_call, sample_result

HEADING = sample_result(rounds=0).heading
NAMES = [path.name for path in HEADING.plan.paths]
REFERENCE, INGRESS, U32 = NAMES
COSTS = {REFERENCE: 305.0, INGRESS: 317.8, U32: 361.0}
WINDOW, WINDOWS = 512, 40
replace = msgspec.structs.replace


@dataclass(frozen=True)
class Noise:
    """What happens to calls: `whole` of them are slowed down altogether, and in each only `quiet` windows are not."""

    call_ns: float = 0.3
    window_ns: float = 0.5
    quiet: float = 0.5
    whole: float = 0.0
    drift_ns: float = 0.0
    visits: int = 2


def call(rng: random.Random, name: str, copy: int, cost: float, noise: Noise) -> Call:
    """A call at `cost` ns/packet, disturbed."""
    if rng.random() < noise.whole:
        cost *= rng.uniform(1.1, 1.5)
    cost += rng.gauss(0, noise.call_ns)
    slowed = [1.0 if rng.random() < noise.quiet else rng.uniform(1.2, 1.5) for _ in range(WINDOWS)]
    return sample_call(
        name, [round(WINDOW * (cost * slow + abs(rng.gauss(0, noise.window_ns)))) for slow in slowed], copy=copy
    )


def measured(
    noise: Noise, rounds: int = 15, costs: dict[str, float] | None = None, seed: int = 1, copy_ns: float = 0.0
) -> Result:
    """A result of such calls; the reference runs as an A/A pair whose second half is `copy_ns` dearer."""
    rng = random.Random(seed)  # noqa: S311 - figures, no secrets
    made = []
    for _ in range(rounds):
        drift = rng.uniform(-noise.drift_ns, noise.drift_ns)
        made.append(
            tuple(
                call(rng, name, copy, cost + drift + copy * copy_ns, noise)
                for _ in range(noise.visits)
                for name, cost in (costs or COSTS).items()
                for copy in ((0, 1) if name == REFERENCE else (0,))
            )
        )
    return Result(HEADING, tuple(made))


def row(summary: Summary, name: str) -> Row:
    """The row of a path."""
    return next(one for one in summary.rows if one.name == name)


def codes(summary: Summary) -> set[str]:
    """The doubts that the analysis itself has."""
    return {caveat.code for caveat in summary.caveats} - {caveat.code for caveat in HEADING.caveats}


@pytest.mark.parametrize("quiet", [1.0, 0.5, 0.25])
def test_costs_come_back(quiet: float) -> None:
    """The known costs and differences lie in their intervals, however many windows were disturbed."""
    summary = summarise(measured(Noise(quiet=quiet), seed=3))
    for name, cost in COSTS.items():
        # what the windows' own noise adds is the same for all
        assert row(summary, name).cost.value == pytest.approx(cost, abs=0.8)
    for name in (INGRESS, U32):
        difference = row(summary, name).difference
        assert difference is not None
        assert difference.low - 0.2 <= COSTS[name] - COSTS[REFERENCE] <= difference.high + 0.2
        assert difference.width < 1
    assert row(summary, REFERENCE).difference is None


def test_typical_is_the_disturbed_cost() -> None:
    """The median of all windows shows the contention that the cost leaves out."""
    found = row(summarise(measured(Noise(quiet=0.25))), REFERENCE)
    assert found.typical_ns > 1.15 * found.cost.value


def test_steps_are_to_the_rung_before() -> None:
    """A step is what a path adds to the one before it; the first has none."""
    steps = [one.step for one in summarise(measured(Noise())).rows]
    assert steps[0] is None
    assert [step.value for step in steps[1:] if step] == pytest.approx([12.8, 43.2], abs=0.5)


@pytest.mark.parametrize("whole", [0.2, 0.4])
def test_whole_disturbed_calls_do_not_move_the_cost(whole: float) -> None:
    """Calls that are slowed down from end to end leave the cost where it was."""
    quiet, disturbed = summarise(measured(Noise())), summarise(measured(Noise(whole=whole), seed=2))
    for name in NAMES:
        assert row(disturbed, name).cost.value == pytest.approx(row(quiet, name).cost.value, abs=0.4)


def test_common_drift_does_not_widen_differences() -> None:
    """What all paths of a round share widens the cost's interval, and not the paired difference's or step's."""
    steady, drifting = summarise(measured(Noise())), summarise(measured(Noise(drift_ns=4.0)))
    for name in (INGRESS, U32):
        before, after = row(steady, name), row(drifting, name)
        assert before.difference
        assert after.difference
        assert after.step
        assert after.cost.width > 3 * after.difference.width
        assert after.difference.width < 1.5 * before.difference.width
        assert after.cost.width > 3 * after.step.width


def test_same_path_twice() -> None:
    """An A/A pair without a difference holds 0, and is no reason to doubt."""
    summary = summarise(measured(Noise()))
    assert [pair.name for pair in summary.same_path] == [REFERENCE]
    assert summary.same_path[0].difference.holds_zero
    assert codes(summary) == set()


def test_no_pair() -> None:
    """Without a second half there is no A/A pair."""
    result = measured(Noise())
    single = tuple(tuple(one for one in calls if one.copy == 0) for calls in result.rounds)
    assert summarise(replace(result, rounds=single)).same_path == ()


def test_caveat_same_path() -> None:
    """An A/A pair that differs is said, with its size and its path, and nothing else is."""
    summary = summarise(measured(Noise(), copy_ns=2.0))
    assert codes(summary) == {"same-path"}
    caveat = next(one for one in summary.caveats if one.code == "same-path")
    assert caveat.about == REFERENCE
    assert "-2." in caveat.text or "-1." in caveat.text


@pytest.mark.parametrize(("whole", "said"), [(0.5, False), (0.88, True)])
def test_caveat_few_quiet(whole: float, said: bool) -> None:
    """A machine that was busy for most calls is said, one that was for half of them is not."""
    summary = summarise(measured(Noise(whole=whole, visits=4)))
    assert ("few-quiet" in codes(summary)) == said


@pytest.mark.parametrize(("rounds", "said"), [(4, True), (5, False)])
def test_caveat_few_rounds(rounds: int, said: bool) -> None:
    """Fewer than five rounds have no interval, and it is said once for all paths; five have one."""
    summary = summarise(measured(Noise(), rounds=rounds))
    about = {caveat.about for caveat in summary.caveats if caveat.code == "few-rounds"}
    assert about == ({""} if said else set())
    assert math.isfinite(summary.resolution_ns) != said


def skewed(share: float) -> Result:
    """The reference is always quiet; of the U32 path's windows only a `share` are, the others 20 ns dearer."""
    rng = random.Random(1)  # noqa: S311 - figures, no secrets

    def windows(name: str) -> list[int]:
        dearer = [20.0 * (name == U32 and number >= share * WINDOWS) for number in range(WINDOWS)]
        return [round(WINDOW * (COSTS[name] + extra + rng.gauss(0, 0.2))) for extra in dearer]

    return Result(HEADING, tuple(tuple(sample_call(name, windows(name)) for name in NAMES) for _ in range(8)))


@pytest.mark.parametrize(("share", "said"), [(0.15, True), (1.0, False)])
def test_caveat_estimators_disagree(share: float, said: bool) -> None:
    """Where other quantiles would give another difference it is said of that path, else of none."""
    summary = summarise(skewed(share))
    about = {caveat.about for caveat in summary.caveats if caveat.code == "estimators-disagree"}
    assert about == ({U32} if said else set())


def disturbed(**changes: int) -> Result:
    """A result whose first call was disturbed so."""
    result = measured(Noise())
    first, *others = result.rounds[0]
    return replace(result, rounds=((replace(first, **changes), *others), *result.rounds[1:]))


def per_second(share: float) -> int:
    """So much of a result's duration, as a count for one call."""
    return round(share * measured(Noise()).duration_s)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"others": 1}, {"another-run"}),
        ({"steal_ms": per_second(30)}, {"steal"}),
        ({"steal_ms": per_second(10)}, set()),
        ({"switches": per_second(125)}, {"busy-cpu"}),
        ({"switches": per_second(75)}, set()),
    ],
    ids=str,
)
def test_caveats_of_disturbance(changes: dict[str, int], said: set[str]) -> None:
    """Another run, steal over 2 % and more than 100 switches a second are each said, and less is not."""
    assert codes(summarise(disturbed(**changes))) == said


def restless(rng: random.Random, path: str) -> Call:
    """A call without a quiet mode, and mostly slowed down as a whole."""
    slow = 1.0 if rng.random() < 0.15 else rng.uniform(1.5, 3)
    return sample_call(path, [round(WINDOW * 305 * slow * rng.uniform(1, 3)) for _ in range(WINDOWS)])


def with_restless(path: str) -> Result:
    """A result in which next to no window of `path` is quiet."""
    rng = random.Random(1)  # noqa: S311 - figures, no secrets
    result = measured(Noise())
    noisy = tuple(tuple(restless(rng, path) if one.path == path else one for one in calls) for calls in result.rounds)
    return replace(result, rounds=noisy)


def test_too_noisy_a_path() -> None:
    """Where next to no window is quiet a path has no cost: it is named as not measured, with what would help."""
    summary = summarise(with_restless(INGRESS))
    assert [one.name for one in summary.rows] == [REFERENCE, U32]
    noisy = summary.unavailable[-1]
    assert noisy.name == INGRESS
    assert "ran undisturbed" in noisy.reason
    assert "--cpu" in noisy.remedy


def test_too_noisy_a_reference() -> None:
    """Without the reference there is nothing to say: TooNoisy, with its name."""
    with pytest.raises(TooNoisy, match=f"^{REFERENCE}: only .* ran undisturbed"):
        summarise(with_restless(REFERENCE))


@pytest.mark.parametrize("result", [Result(HEADING), Result(HEADING, ((),))], ids=["no round", "an empty round"])
def test_nothing_measured(result: Result) -> None:
    """A result without a call is TooNoisy, with what to do."""
    with pytest.raises(TooNoisy, match="--time"):
        summarise(result)


def test_path_without_calls_has_no_row() -> None:
    """A path that was planned and never measured is absent, not filled in; the next step goes past it."""
    costs = {name: cost for name, cost in COSTS.items() if name != INGRESS}
    summary = summarise(measured(Noise(), costs=costs))
    assert [one.name for one in summary.rows] == [REFERENCE, U32]
    step = row(summary, U32).step
    assert step is not None
    assert step.value == pytest.approx(56.0, abs=0.5)


def test_without_the_reference_there_are_no_differences() -> None:
    """Where the reference was not measured, steps are given and differences are not."""
    costs = {name: cost for name, cost in COSTS.items() if name != REFERENCE}
    summary = summarise(measured(Noise(), costs=costs))
    assert [one.difference for one in summary.rows] == [None, None]
    assert summary.rows[1].step is not None
    assert math.isinf(summary.resolution_ns)


def test_totals() -> None:
    """Packets, fates, rounds, testbeds, durations and rates add up."""
    result = measured(Noise(), rounds=6)
    result = replace(
        result, rounds=tuple(tuple(replace(one, testbed=i) for one in calls) for i, calls in enumerate(result.rounds))
    )
    summary = summarise(result)
    assert (summary.rounds, summary.testbeds, summary.reference) == (6, 6, REFERENCE)
    assert row(summary, REFERENCE).sent == 6 * 2 * 2 * WINDOWS * WINDOW
    assert all(one.fate == {"OTHERHOST": one.sent} for one in summary.rows)
    assert all(one.rate_pps == pytest.approx(1e9 / one.cost.value) for one in summary.rows)
    assert summary.duration_s == pytest.approx(sum(one.elapsed_ns for one in result.calls) / 1e9)
    timed = sum(sum(one.windows_ns) for one in result.calls) / 1e9
    assert summary.timed_share == pytest.approx(timed / summary.duration_s)
    assert summary.quiet_share == min(one.quiet_share for one in summary.rows)
    assert row(summary, REFERENCE).quiet_share == pytest.approx(0.5, abs=0.1)


def test_headings_words_are_kept() -> None:
    """What the heading says is missing or doubtful is in the summary too."""
    summary = summarise(sample_result())
    assert summary.unavailable == HEADING.unavailable
    assert summary.caveats[: len(HEADING.caveats)] == HEADING.caveats


@pytest.mark.parametrize(
    ("verdict", "words"),
    [("drop", "batch 32, dropped before the stack"), ("pass", "list receive, batch 32, route hint missed, no GRO")],
)
def test_road(verdict: str, words: str) -> None:
    """The road names batch and route hint, or that the frames never reach the stack."""
    path = replace(HEADING.plan.paths[0], verdict=verdict, route_hint="missed")
    assert analysis.road(path, 32).startswith(words)


def test_resolution_follows_the_noise() -> None:
    """A run with ten times the spread can see differences of about ten times the size."""
    fine, coarse = (summarise(measured(Noise(call_ns=spread), rounds=20)).resolution_ns for spread in (0.2, 2.0))
    assert 4 < coarse / fine < 20


@pytest.mark.parametrize("locate", [None, lambda windows: float(windows.max())], ids=["default", "other"])
def test_readings_grow_with_the_run(locate: Callable[[Floats], float] | None) -> None:
    """Rounds that are added one by one give the same as all at once, whatever reads a call."""
    result = measured(Noise())
    whole = Readings(result.rounds, locate) if locate else Readings(result.rounds)
    grown = Readings((), locate) if locate else Readings()
    for calls in result.rounds:
        grown.add(calls)
    assert grown.rounds == 15
    for name in NAMES:
        assert grown.of(name).tolist() == whole.of(name).tolist()
        assert grown.quiet_calls(name) == whole.quiet_calls(name)


def test_round_without_a_quiet_call_is_absent() -> None:
    """A round in which a path was never quiet has no value for it, and the others keep theirs."""
    noise = Noise(call_ns=0, window_ns=0, quiet=1, visits=1)
    result = measured(noise, rounds=6)
    slow = tuple(sample_call(one.path, [2 * ns for ns in one.windows_ns], copy=one.copy) for one in result.rounds[2])
    readings = Readings((*result.rounds[:2], slow, *result.rounds[3:]))
    assert [math.isnan(value) for value in readings.of(INGRESS)] == [False, False, True, False, False, False]
    assert readings.of(INGRESS)[0] == pytest.approx(317.8, abs=0.01)


def test_a_pairs_halves_are_read_apart() -> None:
    """A copy's reading is its own, and without a copy both count."""
    noise = Noise(call_ns=0, window_ns=0, quiet=1)
    readings = Readings(measured(noise, rounds=5, copy_ns=2.0).rounds)
    means = [readings.of(REFERENCE, copy).mean() for copy in (0, 1, None)]
    assert means == pytest.approx([305.0, 307.0, 306.0], abs=0.01)


def test_widest() -> None:
    """The widest interval is that of the worst difference, A/A pairs included; unknown until five rounds are there."""
    result = measured(Noise(), rounds=12)
    summary = summarise(result)
    widths = [one.width for row in summary.rows for one in (row.difference, row.step) if one]
    widths += [pair.difference.width for pair in summary.same_path]
    assert widest_ns(HEADING.plan, Readings(result.rounds)) == pytest.approx(max(widths))
    assert widest_ns(HEADING.plan, Readings(result.rounds[:4])) == math.inf
    assert widest_ns(HEADING.plan, Readings()) == math.inf
