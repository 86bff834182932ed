"""measure.sizing: calls of about equal time that fit the map, the memory and the round."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from perpkt.inject.live_frames import MOST_PACKETS, WINDOW_PACKETS
from perpkt.measure import sizing
from perpkt.paths import CATALOGUE
from perpkt.wire import programs

PATH = CATALOGUE[1]
HOLDING = msgspec.structs.replace(PATH, held_bytes=4608)
MEMORY = 64 << 20
COSTS = st.floats(5, 100_000)
BATCHES = st.sampled_from([1, 2, 4, 8, 16, 32, 64, 128, 256])


@given(COSTS, BATCHES)
def test_windows_are_whole(cost_ns: float, batch: int) -> None:
    """A call is whole windows, at least a dozen, and one batch more that closes the last; the map has room for each."""
    packets = sizing.call_packets(PATH, cost_ns, batch, MEMORY)
    windows, rest = divmod(packets - batch, WINDOW_PACKETS)
    assert rest == 0
    assert windows >= sizing.FEWEST_WINDOWS
    stamps = 1 + (packets - 1) // WINDOW_PACKETS
    assert stamps <= programs.TIMES
    assert stamps - 1 == windows


@given(st.floats(20, 2000), BATCHES)
def test_calls_take_equal_time(cost_ns: float, batch: int) -> None:
    """Whatever a packet costs, a call's windows take about the same time."""
    windows = (sizing.call_packets(PATH, cost_ns, batch, MEMORY) - batch) // WINDOW_PACKETS
    assert abs(windows * WINDOW_PACKETS * cost_ns - sizing.CALL_NS) <= WINDOW_PACKETS * cost_ns / 2 + 1


def test_cheap_packets_are_not_more_than_the_map_holds() -> None:
    """A path that costs next to nothing sends no more than the time stamps have room for."""
    assert sizing.call_packets(PATH, 0.001, 64, MEMORY) == MOST_PACKETS + 64


@given(COSTS, st.integers(8 << 20, 256 << 20))
def test_held_packets_fit_the_memory(cost_ns: float, memory: int) -> None:
    """Where packets are held until the call is over, all whole windows of them fit what they may take."""
    packets = sizing.call_packets(HOLDING, cost_ns, 64, memory)
    assert (packets - 64) * HOLDING.held_bytes <= memory
    assert packets <= sizing.call_packets(PATH, cost_ns, 64, memory)


def test_two_windows_at_least() -> None:
    """However little memory there is, a call has two windows."""
    assert sizing.call_packets(HOLDING, 300, 64, 1) == 2 * WINDOW_PACKETS + 64


def test_visits() -> None:
    """A round visits as often as leaves thirty rounds, one to four times."""
    assert sizing.visits(30, 0.5, None) == 2
    assert sizing.visits(20, 5.0, None) == 1
    assert sizing.visits(2000, 0.5, None) == 4
    assert sizing.visits(20, 0.5, 10) == 4
    assert sizing.visits(20, 0.5, 20) == 2


@given(st.floats(1, 86400), st.floats(0.001, 1000), st.none() | st.integers(1, 100_000))
def test_visits_are_few(time_s: float, visit_s: float, rounds: int | None) -> None:
    """A round is never without a visit, and never so long that few rounds are left."""
    found = sizing.visits(time_s, visit_s, rounds)
    assert 1 <= found <= 4
    assert found == 1 or found * visit_s * (rounds or 30) <= time_s * (1 + 1e-9)
