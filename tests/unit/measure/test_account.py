"""measure.account: every packet is in a counter, or the path is refused."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpkt.errors import MeasurementError, PacketsLost, WrongFate
from perpkt.measure import account
from perpkt.paths import CATALOGUE
from perpkt.spec import Counter, Fate, Path

PATHS = {path.name: path for path in CATALOGUE}
OTHER_HOST = PATHS["rx/other-host"]
NO_SOCKET = PATHS["rx/udp-no-socket"]
FLOOR = PATHS["rx/floor"]
U32 = PATHS["rx/ingress-u32"]
TWO = msgspec.structs.replace(
    OTHER_HOST,
    name="rx/two",
    fates=(Fate("A", Counter("snmp", "a")), Fate("B", Counter("socket", "b"), dropped=False)),
)
COUNTER = OTHER_HOST.fates[0].counter


def moved(path: Path, *counts: int) -> dict[Counter, int]:
    """That each fate's counter went up by so much."""
    return {fate.counter: count for fate, count in zip(path.fates, counts, strict=True)}


def test_all_accounted_for() -> None:
    """Packets are given by reason when their counters add up to what was sent."""
    assert account.fate(OTHER_HOST, 100, 100, {COUNTER: 100}) == {"OTHERHOST": 100}
    assert account.fate(TWO, 100, 100, moved(TWO, 60, 40)) == {"A": 60, "B": 40}


@pytest.mark.parametrize(("counted", "words"), [(99, "1 are in no counter"), (101, "1 are more than were sent")])
def test_one_packet_is_noticed(counted: int, words: str) -> None:
    """A single packet too few or too many is PacketsLost, with the path, the figures and what they add up to."""
    with pytest.raises(PacketsLost, match=f"^rx/other-host: 100 frames sent, but OTHERHOST {counted}: {words}"):
        account.fate(OTHER_HOST, 100, 100, {COUNTER: counted})


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_never_unless_the_sum_is_right(sent: int, first: int, second: int) -> None:
    """Fates are given exactly when they sum to what was sent."""
    try:
        fates = account.fate(TWO, sent, sent, moved(TWO, first, second))
    except PacketsLost:
        assert first + second != sent
    else:
        assert sum(fates.values()) == sent


@pytest.mark.parametrize("path", [OTHER_HOST, FLOOR], ids=lambda path: path.name)
def test_program_saw_another_number(path: Path) -> None:
    """A call that sent other than was planned is PacketsLost, on the floor too, whose count is its only witness."""
    with pytest.raises(PacketsLost, match="128 frames were to be sent, the injecting program saw 127"):
        account.fate(path, 127, 128, {COUNTER: 127})


def test_floor() -> None:
    """XDP_DROP needs no other counter."""
    assert account.fate(FLOOR, 128, 128, {}) == {"XDP_DROP": 128}


def test_silent_counter_that_moves() -> None:
    """A counter that must not move and does is WrongFate, even where all packets add up."""
    silent = NO_SOCKET.silent[0]
    right = moved(NO_SOCKET, 100)
    assert account.fate(NO_SOCKET, 100, 100, right | {silent: 0}) == {"NO_SOCKET": 100}
    with pytest.raises(WrongFate, match="snmp Icmp OutMsgs went up by 1, and must not move"):
        account.fate(NO_SOCKET, 100, 100, right | {silent: 1})


def test_crossed() -> None:
    """Each counter on the way saw every packet; one that this kernel does not keep is left out."""
    qdisc, u32 = U32.crossed
    assert account.check_crossed(U32, 100, {qdisc: 100, u32: 100}) == {"qdisc dut v0": 100, "u32 dut v0": 100}
    assert account.check_crossed(U32, 100, {qdisc: 100}) == {"qdisc dut v0": 100}


@pytest.mark.parametrize("count", [0, 99, 101])
def test_crossed_by_another_number(count: int) -> None:
    """A counter on the way that saw another number is WrongFate, with its name."""
    qdisc, u32 = U32.crossed
    with pytest.raises(WrongFate, match=f"100 frames sent, but u32 dut v0 counted {count}$"):
        account.check_crossed(U32, 100, {qdisc: 100, u32: count})


def test_drop_reasons_agree() -> None:
    """The kernel's reasons say the same as the counters; what is no drop, or met no packet, is in neither."""
    account.check_drop_reasons(OTHER_HOST, {"OTHERHOST": 100}, {"OTHERHOST": 100})
    account.check_drop_reasons(TWO, {"A": 60, "B": 40}, {"A": 60})
    account.check_drop_reasons(TWO, {"A": 0, "B": 100}, {})


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        ({}, "the kernel dropped nothing here; its counters say OTHERHOST 100"),
        ({"OTHERHOST": 99}, "OTHERHOST 99 here"),
        ({"OTHERHOST": 100, "NO_SOCKET": 1}, "OTHERHOST 100, NO_SOCKET 1 here"),
        ({"NO_SOCKET": 100}, "NO_SOCKET 100 here"),
    ],
)
def test_drop_reasons_disagree(reasons: dict[str, int], words: str) -> None:
    """Any other list of reasons is WrongFate, with both lists."""
    with pytest.raises(WrongFate, match=words):
        account.check_drop_reasons(OTHER_HOST, {"OTHERHOST": 100}, reasons)


def test_errors_are_of_the_measurement() -> None:
    """Both refusals end with the exit code of a measurement that can't be trusted."""
    assert issubclass(PacketsLost, MeasurementError)
    assert issubclass(WrongFate, MeasurementError)
