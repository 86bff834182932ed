"""The BPF programs that perpkt writes itself, as instructions, and the layout of what they share.

The injector runs once for each live frame. It rewrites the destination (two are taken in
turn), stores the time each `window_packets` frames, counts, and returns the verdict that
the call asked for. Verdict and destinations stand in its map, so one image of the program
serves every path: how its code happens to be placed is the same for all of them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from perpkt.wire.frame import CHECKSUM_OFFSET, DESTINATION_OFFSET
from perpkt.wire.insn import (
    KTIME_GET_NS,
    MAP_VALUE,
    Item,
    Label,
    alu,
    alu_reg,
    assemble,
    call,
    jump,
    jump_reg,
    leave,
    load,
    load_map,
    store,
)

# The shared map: one value of u64 sent, u64 verdict, two destinations of 8 bytes (address,
# header checksum), u64 dial, padding to a cache line, then the time stamps.
SENT_OFFSET, VERDICT_OFFSET, DESTINATIONS_OFFSET, DIAL_OFFSET, TIMES_OFFSET = 0, 8, 16, 32, 64
# What each setting of the dial adds: instructions, beside a compare or two.
DIALS = (0, 2, 4, 8, 16, 32)
TIMES = 4096  # a power of two; older stamps are overwritten
STATE_BYTES = TIMES_OFFSET + 8 * TIMES


def state_header(verdict: int, frames: Sequence[bytes], dial: int = 0) -> bytes:
    """What the map starts a call with; `frames` are the two that are sent in turn, `dial` a setting of DIALS."""
    if dial not in range(len(DIALS)):
        raise ValueError(dial)
    destinations = [
        frame[DESTINATION_OFFSET : DESTINATION_OFFSET + 4] + frame[CHECKSUM_OFFSET : CHECKSUM_OFFSET + 2] + b"\0\0"
        for frame in frames
    ]
    return struct.pack("<QQ", 0, verdict) + b"".join(destinations) + struct.pack("<Q", dial)


def injector(state: int, window_packets: int, dialled: bool = False, steal: int | None = None) -> bytes:
    """The injecting XDP program; `state` is its map's descriptor, `window_packets` a power of two.

    `dialled` adds as many instructions as the setting of the map's dial stands for (DIALS): a known
    cost for the experiment in docs/method.md, from one image of the program. `steal` counts the frame of
    that number as sent and drops it: the tests' proof that a packet lost on its way is noticed.
    """
    return assemble([
        alu_reg("mov", 7, 1),
        load_map(MAP_VALUE, 6, state),
        load(8, 8, 6, SENT_OFFSET),
        *_rewrite_destination(),
        Label("sent"),
        *(_dial() if dialled else []),
        *_stamp(window_packets),
        load(8, 0, 6, VERDICT_OFFSET),
        *_steal(steal),
        alu("add", 8, 1),
        store(8, 6, SENT_OFFSET, 8),
        leave(),
    ])  # fmt: skip


def go_on() -> bytes:
    """A classifier that says nothing: TC_ACT_UNSPEC under clsact, TCX_NEXT under tcx, both -1."""
    return assemble([alu("mov", 0, -1), leave()])


def _rewrite_destination() -> list[Item]:
    # r1 data, r2 data_end; a frame too short for the headers is left alone
    return [
        load(4, 1, 7, 0),
        load(4, 2, 7, 4),
        alu_reg("mov", 3, 1),
        alu("add", 3, DESTINATION_OFFSET + 4),
        jump_reg("jgt", 3, 2, "sent"),
        alu_reg("mov", 5, 8),
        alu("and", 5, 1),
        alu("lsh", 5, 3),
        alu_reg("add", 5, 6),
        load(4, 3, 5, DESTINATIONS_OFFSET),
        store(4, 1, DESTINATION_OFFSET, 3),
        load(2, 3, 5, DESTINATIONS_OFFSET + 4),
        store(2, 1, CHECKSUM_OFFSET, 3),
    ]


def _dial() -> list[Item]:
    # straight code behind jumps that go the same way for all of a call: nothing to mispredict
    items: list[Item] = [load(8, 9, 6, DIAL_OFFSET)]
    for setting, instructions in enumerate(DIALS[1:], 1):
        items += [jump("jne", 9, setting, f"not {setting}"), *[alu("add", 9, 1)] * instructions]
        items += [jump("ja", 0, 0, "dialled"), Label(f"not {setting}")]
    return [*items, Label("dialled")]


def _stamp(window_packets: int) -> list[Item]:
    return [
        alu_reg("mov", 4, 8),
        alu("and", 4, window_packets - 1),
        jump("jne", 4, 0, "stamped"),
        call(KTIME_GET_NS),
        alu_reg("mov", 4, 8),
        alu("rsh", 4, window_packets.bit_length() - 1),
        alu("and", 4, TIMES - 1),
        alu("lsh", 4, 3),
        alu_reg("add", 4, 6),
        store(8, 4, TIMES_OFFSET, 0),
        Label("stamped"),
    ]


def _steal(number: int | None) -> list[Item]:
    if number is None:
        return []
    return [jump("jne", 8, number, "kept"), alu("mov", 0, 1), Label("kept")]
