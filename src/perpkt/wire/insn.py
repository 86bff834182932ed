"""The few eBPF instructions that perpkt needs, as bytes.

Encoding and names: include/uapi/linux/bpf.h and the kernel's BPF instruction set
document. Each builder returns the 8 (or 16) bytes of one instruction; a program is
their concatenation. `assemble` resolves jumps to labels.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

# Source kind of a 64-bit immediate load (BPF_PSEUDO_*).
MAP_FD = 1
MAP_VALUE = 2

KTIME_GET_NS = 5
PROBE_READ_KERNEL = 113

_SIZES = {1: 0x10, 2: 0x08, 4: 0x00, 8: 0x18}
_ALU = {"add": 0x00, "sub": 0x10, "or": 0x40, "and": 0x50, "lsh": 0x60, "rsh": 0x70, "xor": 0xA0, "mov": 0xB0}
_JUMPS = {"ja": 0x00, "jeq": 0x10, "jgt": 0x20, "jge": 0x30, "jne": 0x50}


class Label(str):
    """A place in a program; stands in the list where the jump lands."""

    __slots__ = ()


class Jump(tuple[int, int, int, int, str]):
    """A jump whose offset `assemble` fills in: (opcode, dst, src, immediate, label)."""

    __slots__ = ()


Item = bytes | Label | Jump


def encode(opcode: int, dst: int = 0, src: int = 0, offset: int = 0, immediate: int = 0) -> bytes:
    """One 8-byte instruction; `immediate` is taken modulo 2**32."""
    return struct.pack("<BBhI", opcode, src << 4 | dst, offset, immediate & 0xFFFFFFFF)


def alu(operation: str, dst: int, immediate: int) -> bytes:
    """dst = dst OPERATION immediate, 64 bit."""
    return encode(0x07 | _ALU[operation], dst, immediate=immediate)


def alu_reg(operation: str, dst: int, src: int) -> bytes:
    """dst = dst OPERATION src, 64 bit."""
    return encode(0x0F | _ALU[operation], dst, src)


def load(size: int, dst: int, src: int, offset: int) -> bytes:
    """dst = *(uSIZE *)(src + offset); `size` in bytes."""
    return encode(0x61 | _SIZES[size], dst, src, offset)


def store(size: int, dst: int, offset: int, src: int) -> bytes:
    """*(uSIZE *)(dst + offset) = src; `size` in bytes."""
    return encode(0x63 | _SIZES[size], dst, src, offset)


def atomic_add(dst: int, offset: int, src: int) -> bytes:
    """lock *(u64 *)(dst + offset) += src."""
    return encode(0xDB, dst, src, offset)


def load_map(kind: int, dst: int, fd: int, offset: int = 0) -> bytes:
    """dst = the map of `fd` (MAP_FD), or the address `offset` bytes into its first value (MAP_VALUE)."""
    return encode(0x18, dst, kind, 0, fd) + encode(0, immediate=offset)


def load_immediate(dst: int, value: int) -> bytes:
    """dst = value, 64 bit; two instructions' room."""
    return encode(0x18, dst, immediate=value) + encode(0, immediate=value >> 32)


def call(helper: int) -> bytes:
    """Call a helper: arguments in r1 to r5, result in r0."""
    return encode(0x85, immediate=helper)


def leave() -> bytes:
    """Return r0."""
    return encode(0x95)


def jump(operation: str, dst: int, immediate: int, label: str) -> Jump:
    """If dst OPERATION immediate, go on at `label`."""
    return Jump((0x05 | _JUMPS[operation], dst, 0, immediate, label))


def jump_reg(operation: str, dst: int, src: int, label: str) -> Jump:
    """If dst OPERATION src, go on at `label`."""
    return Jump((0x0D | _JUMPS[operation], dst, src, 0, label))


def assemble(items: Iterable[Item]) -> bytes:
    """The program's bytes; raises KeyError for a jump to a label that is not there."""
    items = list(items)
    places: dict[str, int] = {}
    position = 0
    for item in items:
        if isinstance(item, Label):
            places[item] = position
        else:
            position += len(item) // 8 if isinstance(item, bytes) else 1
    return b"".join(_resolve(items, places))


def _resolve(items: list[Item], places: dict[str, int]) -> Iterable[bytes]:
    position = 0
    for item in items:
        if isinstance(item, Jump):
            opcode, dst, src, immediate, label = item
            position += 1
            yield encode(opcode, dst, src, places[label] - position, immediate)
        elif isinstance(item, bytes):
            position += len(item) // 8
            yield item
