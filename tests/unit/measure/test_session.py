"""measure.session: when a run ends, and in which order it goes, with scripted calls and a clock of the test's own."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec
import pytest

from perpkt.measure import session
from perpkt.measure.schedule import Group, Slot
from perpkt.measure.session import Session
from perpkt.readings import Readings
from perpkt.result import Call
from perpkt.spec import Plan
from perpkt.testing import SAMPLE_COSTS_NS, FakeClock, ScriptedRunner, sample_call, sample_plan

PLAN = sample_plan()
PACKETS = dict.fromkeys(SAMPLE_COSTS_NS, 20_544)
SAME_PATH = ("rx/other-host",)
Script = Callable[[Slot, int], Call]


def steady(slot: Slot, number: int) -> Call:
    """Calls that hardly differ."""
    rng = random.Random(f"{slot.path.name} {slot.copy} {number}")  # noqa: S311 - figures, no secrets
    cost = SAMPLE_COSTS_NS[slot.path.name] + rng.gauss(0, 0.05)
    return sample_call(slot.path.name, [round(512 * cost)] * 20, copy=slot.copy)


def wild(slot: Slot, number: int) -> Call:
    """Calls that differ by nanoseconds."""
    rng = random.Random(f"{slot.path.name} {slot.copy} {number}")  # noqa: S311 - figures, no secrets
    cost = SAMPLE_COSTS_NS[slot.path.name] + rng.gauss(0, 3)
    return sample_call(slot.path.name, [round(512 * cost)] * 20, copy=slot.copy)


def measured(
    script: Script = steady, round_s: float = 1.0, **changes: float | None
) -> tuple[list[tuple[Call, ...]], FakeClock, ScriptedRunner]:
    """All rounds of a session of the sample's plan with `changes`, its clock and its runner."""
    clock = FakeClock(1000.0)
    runner = ScriptedRunner(script, clock, round_s)
    plan: Plan = msgspec.structs.replace(PLAN, **changes)
    rounds = list(Session(plan, runner, clock).rounds(PACKETS, SAME_PATH, 2))
    return rounds, clock, runner


@pytest.mark.parametrize(("time_s", "round_s", "expected"), [(10, 3, 3), (10, 1, 10), (10.5, 1, 10), (1, 0.25, 4)])
def test_ends_in_time(time_s: float, round_s: float, expected: int) -> None:
    """No round is begun that would not end in time, and none is left out that would."""
    rounds, clock, _ = measured(round_s=round_s, time_s=time_s)
    assert len(rounds) == expected
    assert clock() - 1000.0 <= time_s


@pytest.mark.parametrize("round_s", [6.0, 100.0])
def test_two_rounds_in_any_case(round_s: float) -> None:
    """However long a round takes, there are two."""
    assert len(measured(round_s=round_s, time_s=10.0)[0]) == 2


@pytest.mark.parametrize("count", [1, 2, 7])
def test_ends_at_the_rounds(count: int) -> None:
    """With a number of rounds exactly these are made, though there were time for more."""
    assert len(measured(rounds=count, time_s=1000.0)[0]) == count


def test_time_ends_rounds_too() -> None:
    """Rounds that were asked for are not made when the time is over before."""
    assert len(measured(rounds=50, time_s=10.0)[0]) == 10


def test_the_readers_time_counts() -> None:
    """What is done with a round between two of them is part of the wall time."""
    clock = FakeClock()
    runner = ScriptedRunner(steady, clock)
    for _ in Session(msgspec.structs.replace(PLAN, time_s=12.0), runner, clock).rounds(PACKETS, SAME_PATH, 1):
        clock.advance(2.0)
    assert len(runner.orders) == 4


def test_rounds_have_looks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a number of rounds, --precision is looked at after an eighth of them, however long the time may be."""
    monkeypatch.setattr("perpkt.measure.session.widest_ns", lambda plan, readings: 0.5)
    assert len(measured(rounds=80, time_s=86400.0, precision_ns=1.0)[0]) == 10


@pytest.mark.parametrize(("precise_after", "rounds"), [(3, 10), (10, 10), (11, 20), (20, 20), (21, 40), (41, 80)])
def test_ends_at_a_look(precise_after: int, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is precise ends at the next look, after 1/8, 1/4 or 1/2 of the time, and never between two."""
    looked: list[int] = []

    def widest(plan: Plan, readings: Readings) -> float:
        looked.append(readings.rounds)
        return 0.5 if readings.rounds >= precise_after else 0.51

    monkeypatch.setattr(session, "widest_ns", widest)
    assert len(measured(time_s=80.0, precision_ns=0.5)[0]) == rounds
    assert looked == [look for look in (10, 20, 40) if look <= rounds]


def test_a_look_that_was_passed_is_not_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round that ends after two looks takes both at once."""
    looked: list[int] = []

    def widest(plan: Plan, readings: Readings) -> float:
        looked.append(readings.rounds)
        return 1.0

    monkeypatch.setattr(session, "widest_ns", widest)
    measured(round_s=15.0, time_s=80.0, precision_ns=0.5)
    assert looked == [2, 3]


@pytest.mark.parametrize(("script", "rounds"), [(steady, 10), (wild, 80)], ids=["steady", "wild"])
def test_precision_is_that_of_the_intervals(script: Script, rounds: int) -> None:
    """A steady machine ends a run with --precision at the first look, a wild one never before the time is up."""
    assert len(measured(script, time_s=80.0, precision_ns=0.5)[0]) == rounds


def test_no_look_without_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run without --precision goes on however narrow its intervals are."""

    def refused(plan: Plan, readings: Readings) -> float:
        raise AssertionError

    monkeypatch.setattr(session, "widest_ns", refused)
    assert len(measured(time_s=20.0)[0]) == 20


def orders(seed: int) -> list[list[Group]]:
    """The order of each round of a session with this seed."""
    return [list(groups) for groups in measured(time_s=5.0, seed=seed)[2].orders]


def test_order_is_the_seeds() -> None:
    """The same seed gives the same order of all rounds, another seed another."""
    assert orders(3) == orders(3)
    assert orders(3) != orders(4)


def test_rounds_are_what_the_runner_made() -> None:
    """Each round comes as the runner gave it, and is in the readings by then."""
    clock = FakeClock()
    runner = ScriptedRunner(steady, clock)
    measuring = Session(msgspec.structs.replace(PLAN, time_s=3.0), runner, clock)
    for number, calls in enumerate(measuring.rounds(PACKETS, SAME_PATH, 2), 1):
        slots = [slot for group in runner.orders[-1] for slot in group.slots]
        assert calls == tuple(steady(slot, number - 1) for slot in slots)
        assert measuring.readings.rounds == number
    assert measuring.readings.is_pair("rx/other-host")


def test_an_error_ends_the_run() -> None:
    """What the runner raises is not held back, and no further round is begun."""

    def failing(slot: Slot, number: int) -> Call:
        if number == 2:
            raise RuntimeError("lost")
        return steady(slot, number)

    clock = FakeClock()
    runner = ScriptedRunner(failing, clock)
    done: list[tuple[Call, ...]] = []
    with pytest.raises(RuntimeError, match="lost"):
        done.extend(Session(PLAN, runner, clock).rounds(PACKETS, SAME_PATH, 1))
    assert len(runner.orders) == 3
