"""The running kernel's own type information (BTF): where a member lies, what an enumerator is called.

Layout: include/uapi/linux/btf.h and the kernel's Documentation/bpf/btf.rst. One pass notes
where each type starts; members and enumerators are decoded only when asked for.
"""

from __future__ import annotations

import struct
from array import array
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perpkt.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

VMLINUX = Path("/sys/kernel/btf/vmlinux")

_REMEDY = "Use a kernel built with CONFIG_DEBUG_INFO_BTF=y."
_MAGIC = 0xEB9F
_HEADER = "HBBIIIII"
_STRUCT, _UNION, _ENUM, _TYPEDEF, _VOLATILE, _CONST, _RESTRICT, _TYPE_TAG = 4, 5, 6, 8, 9, 10, 11, 18
_MODIFIERS = (_TYPEDEF, _VOLATILE, _CONST, _RESTRICT, _TYPE_TAG)
_NAMED = (_STRUCT, _UNION, _ENUM)

# Words of a type of each kind (BTF_KIND_UNKN to BTF_KIND_ENUM64): fixed, and for each of its vlen items.
_FIXED_WORDS = (0, 4, 3, 6, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 3, 3, 4, 3, 3)
_ITEM_WORDS = (0, 0, 0, 0, 3, 3, 2, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 0, 0, 3)

# Bounds that no C type reaches; without them a damaged file could lead round in circles.
_DEEPEST_NESTING = 32
_LONGEST_MODIFIER_CHAIN = 32


class Btf:
    """The types of one BTF section; raises Unsupported for bytes that are not BTF."""

    def __init__(self, data: bytes) -> None:
        self._words, self._strings = _sections(data)
        self._starts = array("I", [0])  # type 0 is void and has no entry
        self._named: dict[int, dict[int, int]] = {kind: {} for kind in _NAMED}
        self._index()

    def member_offset(self, name: str, path: str) -> int:
        """Bytes from the start of struct (or union) `name` to the member at the dotted `path`.

        Each part but the last is a member that is a struct; members of anonymous structs and
        unions count as their parent's. Raises Unsupported for what this kernel does not have.
        """
        start: int | None = self._find(name, _STRUCT, _UNION)
        bits = 0
        for part in path.split("."):
            found = None if start is None else self._member(start, part.encode() + b"\0")
            if found is None:
                raise Unsupported(f"struct {name} of this kernel has no member {path}", _REMEDY)
            bits += found[0]
            start = self._resolve(found[1])
        if bits % 8:
            raise Unsupported(f"{path} of struct {name} is a bit field of this kernel", _REMEDY)
        return bits // 8

    def enumerators(self, name: str, prefix: str = "") -> dict[int, str]:
        """The values of enum `name` and what they are called, `prefix` taken off where it stands."""
        start = self._find(name, _ENUM)
        signed = self._words[start + 1] >> 31
        return {
            value - (1 << 32) if signed and value >> 31 else value: self._text(offset).removeprefix(prefix)
            for offset, value in self._items(start)
        }

    def _index(self) -> None:
        words, append, named = self._words, self._starts.append, self._named
        position, end = 0, len(words)
        try:
            while position < end:
                information = words[position + 1]
                kind = information >> 24 & 0x1F
                if not kind:
                    break
                if kind in named:
                    named[kind].setdefault(words[position], position)
                append(position)
                position += _FIXED_WORDS[kind] + _ITEM_WORDS[kind] * (information & 0xFFFF)
        except IndexError:
            position = -1
        if position != end:
            raise Unsupported("the BTF's types are damaged, or of a kind that perpkt does not know", _REMEDY)

    def _find(self, name: str, *kinds: int) -> int:
        wanted = name.encode() + b"\0"
        offset = self._strings.find(wanted)
        while offset >= 0:
            for kind in kinds:
                if offset in self._named[kind]:
                    return self._named[kind][offset]
            offset = self._strings.find(wanted, offset + 1)
        raise Unsupported(f"this kernel's BTF has no type {name}", _REMEDY)

    def _items(self, start: int) -> Iterator[tuple[int, ...]]:
        """The members (name, type, offset) or enumerators (name, value) of the type at `start`."""
        information = self._words[start + 1]
        width = _ITEM_WORDS[information >> 24 & 0x1F]
        first = start + 3
        for position in range(first, first + width * (information & 0xFFFF), width):
            yield tuple(self._words[position : position + width])

    def _member(self, start: int, wanted: bytes, depth: int = 0) -> tuple[int, int] | None:
        """(offset in bits, type) of a member of the struct at `start`, looked for in its anonymous members too."""
        if depth > _DEEPEST_NESTING:
            raise Unsupported("the BTF's types are nested without end", _REMEDY)
        has_bit_fields = self._words[start + 1] >> 31  # then the top byte of an offset is the field's width
        for name, member_type, offset in self._items(start):
            bits = offset & 0xFFFFFF if has_bit_fields else offset
            if self._strings.startswith(wanted, name):
                return bits, member_type
            inner = self._resolve(member_type) if self._is_anonymous(name) else None
            found = self._member(inner, wanted, depth + 1) if inner is not None else None
            if found:
                return bits + found[0], found[1]
        return None

    def _resolve(self, type_id: int) -> int | None:
        """Where the struct or union begins that `type_id` names, through typedefs and qualifiers; None for others."""
        for _ in range(_LONGEST_MODIFIER_CHAIN):
            if not 0 < type_id < len(self._starts):
                return None
            start = self._starts[type_id]
            kind = self._words[start + 1] >> 24 & 0x1F
            if kind not in _MODIFIERS:
                return start if kind in (_STRUCT, _UNION) else None
            type_id = self._words[start + 2]
        return None

    def _is_anonymous(self, name: int) -> bool:
        return self._strings.startswith(b"\0", name)

    def _text(self, offset: int) -> str:
        return self._strings[offset : self._strings.find(b"\0", offset)].decode(errors="replace")


def _sections(data: bytes) -> tuple[array[int], bytes]:
    """The type section as 32-bit words, and the string section."""
    order = {b"\x9f\xeb": "<", b"\xeb\x9f": ">"}.get(data[:2])
    if order is None or len(data) < struct.calcsize(order + _HEADER):
        raise Unsupported("these bytes are not BTF", _REMEDY)
    _, _, _, header, type_at, type_bytes, string_at, string_bytes = struct.unpack_from(order + _HEADER, data)
    if max(type_at + type_bytes, string_at + string_bytes) + header > len(data) or type_bytes % 4:
        raise Unsupported("the BTF is truncated", _REMEDY)
    words = array("I", data[header + type_at : header + type_at + type_bytes])
    if order != ("<" if struct.pack("=H", _MAGIC) == b"\x9f\xeb" else ">"):
        words.byteswap()
    return words, data[header + string_at : header + string_at + string_bytes]


@cache
def running_kernel() -> Btf:
    """The running kernel's types, read once; raises Unsupported where the kernel gives none."""
    try:
        data = VMLINUX.read_bytes()
    except OSError as error:
        raise Unsupported(f"read {VMLINUX}: {error.strerror}", _REMEDY) from error
    return Btf(data)
