"""How many frames a call sends, and how many calls a round makes. Pure."""

from __future__ import annotations

import math

from perpkt.inject.live_frames import MOST_PACKETS, WINDOW_PACKETS
from perpkt.spec import Path

# A call's time in windows. What differs between calls is mostly where their pages lie, whatever
# their length, so many short calls beat few long ones: docs/method.md.
CALL_NS = 20_000_000
FEWEST_WINDOWS = 12
PROBE_PACKETS = 8 * WINDOW_PACKETS
SIZING_PACKETS = 32 * WINDOW_PACKETS + 1
WARM_UP_PACKETS = 256
_MOST_VISITS = 4
_ROUNDS_WANTED = 30


def call_packets(path: Path, cost_ns: float, batch: int, memory_bytes: int) -> int:
    """Frames for a call of CALL_NS: whole windows and one batch more, so that the last window closes.

    `memory_bytes`: what the packets that a path holds may take together.
    """
    windows = max(FEWEST_WINDOWS, round(CALL_NS / cost_ns / WINDOW_PACKETS))
    limit = MOST_PACKETS // WINDOW_PACKETS
    if path.held_bytes:
        limit = min(limit, max(2, memory_bytes // path.held_bytes // WINDOW_PACKETS))
    return min(windows, limit) * WINDOW_PACKETS + batch


def visits(time_s: float, visit_s: float, rounds: int | None) -> int:
    """How often a round calls each path: as often as leaves 30 rounds or more, the clusters of the intervals."""
    wanted = rounds or _ROUNDS_WANTED
    return max(1, min(_MOST_VISITS, math.floor(time_s / wanted / visit_s)))
