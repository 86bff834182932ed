"""wire.programs: the layout of the shared map, and what the injector does to each frame, run on a small machine."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from perpkt.wire import programs
from perpkt.wire.frame import internet_checksum, udp_frame

MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02")
FRAMES = tuple(udp_frame(MACS, (to, "198.18.0.2"), (9, 9), 60) for to in ("198.18.0.1", "198.18.0.3"))
PASS, DROP = 2, 1
MAP_AT, PACKET_AT, CONTEXT_AT = 0x10000, 0x80000, 0x90000
WINDOW = 4
_FORMATS = {0x00: "<I", 0x08: "<H", 0x10: "<B", 0x18: "<Q"}
_OPERATIONS: dict[int, Callable[[int, int], int]] = {
    0x00: lambda a, b: a + b,
    0x10: lambda a, b: a - b,
    0x50: lambda a, b: a & b,
    0x60: lambda a, b: a << b,
    0x70: lambda a, b: a >> b,
    0xB0: lambda a, b: b,
}
_CONDITIONS: dict[int, Callable[[int, int], bool]] = {
    0x00: lambda a, b: True,
    0x10: lambda a, b: a == b,
    0x20: lambda a, b: a > b,
    0x50: lambda a, b: a != b,
}


@dataclass
class Machine:
    """Interprets the instructions that the injector is made of: the witness of what it does."""

    code: bytes
    state: bytearray
    clock_ns: int = 1000
    steps: int = 0
    packet: bytearray = field(default_factory=bytearray)

    def run(self, frame: bytes) -> int:
        """One frame: the verdict; `packet` is what the program made of it."""
        self.packet = bytearray(frame)
        context = bytearray(struct.pack("<II", PACKET_AT, PACKET_AT + len(frame)))
        memory = ((MAP_AT, self.state), (PACKET_AT, self.packet), (CONTEXT_AT, context))
        registers = [0] * 11
        registers[1] = CONTEXT_AT
        at = 0
        while True:
            opcode, pair, offset, immediate = struct.unpack_from("<BBhi", self.code, 8 * at)
            dst, src = pair & 15, pair >> 4
            value = registers[src] if opcode & 8 else immediate
            at += 1
            self.steps += 1
            match opcode & 7:
                case 7:
                    registers[dst] = _OPERATIONS[opcode & 0xF0](registers[dst], value) % 2**64
                case 1:
                    region, place = _find(memory, registers[src] + offset)
                    registers[dst] = struct.unpack_from(_FORMATS[opcode & 0x18], region, place)[0]
                case 3:
                    region, place = _find(memory, registers[dst] + offset)
                    struct.pack_into(_FORMATS[opcode & 0x18], region, place, registers[src])
                case 0:
                    registers[dst], at = MAP_AT, at + 1
                case _ if opcode == 0x95:
                    return registers[0]
                case _ if opcode == 0x85:
                    assert immediate == 5  # bpf_ktime_get_ns
                    self.clock_ns += 100
                    registers[0] = self.clock_ns
                    registers[1:6] = [0xDEAD] * 5  # a call may leave anything in these
                case _:
                    at += offset if _CONDITIONS[opcode & 0xF0](registers[dst], value) else 0


def _find(memory: tuple[tuple[int, bytearray], ...], address: int) -> tuple[bytearray, int]:
    for start, region in memory:
        if start <= address < start + len(region):
            return region, address - start
    raise AssertionError(f"access to {address:#x}")


def machine(verdict: int = PASS, dial: int | None = None, steal: int | None = None) -> Machine:
    """A machine with the injector and a map that is armed; `dial` None: a program without one."""
    state = bytearray(programs.STATE_BYTES)
    header = programs.state_header(verdict, FRAMES, dial or 0)
    state[: len(header)] = header
    return Machine(programs.injector(7, WINDOW, dial is not None, steal), state)


def sent(state: bytearray) -> int:
    """The program's count."""
    return int(struct.unpack_from("<Q", state, programs.SENT_OFFSET)[0])


def test_layout() -> None:
    """Count, verdict, destinations and dial do not overlap, and the time stamps begin a cache line."""
    header = programs.state_header(PASS, FRAMES, 3)
    assert struct.unpack_from("<QQ", header) == (0, PASS)
    assert struct.unpack_from("<Q", header, programs.DIAL_OFFSET) == (3,)
    assert programs.DESTINATIONS_OFFSET + 16 == programs.DIAL_OFFSET
    assert programs.DIAL_OFFSET + 8 == len(header) <= programs.TIMES_OFFSET
    assert programs.TIMES_OFFSET % 64 == 0
    assert programs.TIMES & (programs.TIMES - 1) == 0
    assert programs.STATE_BYTES == programs.TIMES_OFFSET + 8 * programs.TIMES


def test_destinations_in_the_map() -> None:
    """Each frame's destination address and header checksum stand in its 8 bytes."""
    header = programs.state_header(PASS, FRAMES)
    first, second = header[16:24], header[24:32]
    assert first == bytes([198, 18, 0, 1]) + FRAMES[0][24:26] + b"\0\0"
    assert second == bytes([198, 18, 0, 3]) + FRAMES[1][24:26] + b"\0\0"


def test_destinations_are_taken_in_turn() -> None:
    """Frame after frame leaves as the first, the second, the first, ... with a valid header each."""
    injector = machine()
    for number in range(6):
        assert injector.run(FRAMES[0]) == PASS
        assert injector.packet == FRAMES[number % 2]
        assert internet_checksum(bytes(injector.packet[14:34])) == 0
    assert sent(injector.state) == 6


@pytest.mark.parametrize("verdict", [PASS, DROP])
def test_verdict_is_the_calls(verdict: int) -> None:
    """The program returns what the map says, in windows and at their ends."""
    injector = machine(verdict)
    assert {injector.run(FRAMES[0]) for _ in range(2 * WINDOW)} == {verdict}


def test_stamps() -> None:
    """The time is stored before frame 0 and then once each window, one behind the other."""
    injector = machine()
    for _ in range(2 * WINDOW + 1):
        injector.run(FRAMES[0])
    assert struct.unpack_from("<4Q", injector.state, programs.TIMES_OFFSET) == (1100, 1200, 1300, 0)


def test_stamps_stay_inside_the_map() -> None:
    """The window after the last takes the first one's place."""
    injector = machine()
    struct.pack_into("<Q", injector.state, programs.SENT_OFFSET, WINDOW * programs.TIMES)
    injector.run(FRAMES[0])
    assert struct.unpack_from("<Q", injector.state, programs.TIMES_OFFSET) == (1100,)


def test_short_frame_is_left_alone() -> None:
    """A frame that ends before its IPv4 destination does is counted, and not written to."""
    injector = machine()
    assert injector.run(FRAMES[1][:33]) == PASS
    assert injector.packet == FRAMES[1][:33]
    assert sent(injector.state) == 1


def test_steal() -> None:
    """The stolen frame is dropped and yet counted; all others pass."""
    injector = machine(steal=3)
    assert [injector.run(FRAMES[0]) for _ in range(6)] == [PASS, PASS, PASS, DROP, PASS, PASS]
    assert sent(injector.state) == 6


def test_dial_adds_what_its_setting_says() -> None:
    """Each setting of the dial makes each frame its number of instructions dearer, beside compares and a jump."""
    steps = []
    for dial in range(len(programs.DIALS)):
        injector = machine(dial=dial)
        for _ in range(2 * WINDOW):
            injector.run(FRAMES[0])
        steps.append(injector.steps)
    compares = len(programs.DIALS) - 1
    for dial, (taken, instructions) in enumerate(zip(steps, programs.DIALS, strict=True)):
        beside = compares if dial == 0 else dial + 1
        assert taken - steps[0] == 2 * WINDOW * (instructions + beside - compares)


def test_dial_changes_nothing_else() -> None:
    """A dialled program does to its frames and its map what one without a dial does."""
    plain, dialled = machine(), machine(dial=5)
    for _ in range(2 * WINDOW):
        assert plain.run(FRAMES[0]) == dialled.run(FRAMES[0])
        assert plain.packet == dialled.packet
    struct.pack_into("<Q", dialled.state, programs.DIAL_OFFSET, 0)
    assert plain.state == dialled.state


def test_go_on() -> None:
    """The classifier is `r0 = -1; exit`: TC_ACT_UNSPEC and TCX_NEXT."""
    assert programs.go_on() == bytes.fromhex("b7000000ffffffff 9500000000000000")
