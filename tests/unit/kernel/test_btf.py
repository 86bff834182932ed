"""perpkt.kernel.btf on a small BTF section that the test itself writes."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpkt.errors import PerpktError, Unsupported
from perpkt.kernel import btf
from perpkt.kernel.btf import Btf

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, CONST, FUNC_PROTO, VAR, DATASEC, ENUM64 = (
    1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 19,
)  # fmt: skip


@dataclass
class Writer:
    """Types are numbered from 1 in the order in which they are added."""

    order: str = "<"
    types: bytes = b""
    strings: bytes = b"\0"
    count: int = field(default=0)

    def text(self, name: str) -> int:
        """The offset of `name` among the strings."""
        if not name:
            return 0
        offset = len(self.strings)
        self.strings += name.encode() + b"\0"
        return offset

    def add(self, kind: int, name: str, size_or_type: int, *words: int, vlen: int = 0, flag: int = 0) -> int:
        """A type with the words that follow its head; returns its number."""
        head = (self.text(name), flag << 31 | kind << 24 | vlen, size_or_type)
        self.types += struct.pack(f"{self.order}{3 + len(words)}I", *head, *words)
        self.count += 1
        return self.count

    def aggregate(self, kind: int, name: str, *members: tuple[str, int, int], flag: int = 0) -> int:
        """A struct or union of (name, type, offset in bits)."""
        words = [word for label, kind_, bits in members for word in (self.text(label), kind_, bits)]
        return self.add(kind, name, 0, *words, vlen=len(members), flag=flag)

    def enum(self, name: str, values: dict[str, int], flag: int = 0) -> int:
        """An enum of 32-bit values."""
        words = [word for label, value in values.items() for word in (self.text(label), value & 0xFFFFFFFF)]
        return self.add(ENUM, name, 4, *words, vlen=len(values), flag=flag)

    def data(self) -> bytes:
        """The whole section."""
        sizes = (24, 0, len(self.types), len(self.types), len(self.strings))
        return struct.pack(f"{self.order}HBBIIIII", 0xEB9F, 1, 0, *sizes) + self.types + self.strings


def blob(order: str = "<") -> bytes:
    """Shaped like the kernel's: a typedef of an anonymous struct, a union in a struct, and other kinds between."""
    writer = Writer(order)
    # First, so that a struct at the very start of the section is among the cases.
    writer.aggregate(STRUCT, "first", ("a", 2, 0), ("b", 2, 32))
    integer = writer.add(INT, "int", 4, 32)
    pointer = writer.add(PTR, "", 0)
    writer.add(ARRAY, "", 0, integer, integer, 4)
    writer.add(FWD, "net", 0)
    writer.add(FUNC_PROTO, "", 0, 0, integer, 0, pointer, vlen=2)
    writer.add(VAR, "variable", integer, 1)
    writer.add(DATASEC, ".data", 8, 7, 0, 4, vlen=1)
    writer.add(ENUM64, "wide", 8, writer.text("WIDE"), 1, 1, vlen=1)
    holder = writer.aggregate(STRUCT, "", ("net", pointer, 0))
    possible = writer.add(TYPEDEF, "possible_net_t", holder)
    writer.aggregate(STRUCT, "net_device", ("flags", integer, 0), ("nd_net", writer.add(CONST, "", possible), 192))
    inner = writer.aggregate(UNION, "", ("dev", pointer, 0), ("dev_scratch", integer, 0))
    outer = writer.aggregate(STRUCT, "", ("next", pointer, 0), ("", inner, 128))
    writer.aggregate(STRUCT, "sk_buff", ("", outer, 64), ("len", integer, 256))
    bits = ("whole", integer, 64), ("half", integer, 4 << 24 | 12), ("even", integer, 8 << 24 | 16)
    writer.aggregate(STRUCT, "bits", *bits, flag=1)
    writer.enum("skb_drop_reason", {"SKB_CONSUMED": 1, "SKB_DROP_REASON_NO_SOCKET": 3, "MASK": 0xFFFF0000})
    writer.enum("signed", {"MINUS": -1, "ONE": 1}, flag=1)
    return writer.data()


@pytest.mark.parametrize(
    ("name", "path", "offset"),
    [
        ("first", "a", 0),
        ("first", "b", 4),
        ("net_device", "nd_net", 24),
        ("net_device", "nd_net.net", 24),
        ("sk_buff", "next", 8),
        ("sk_buff", "dev", 24),
        ("sk_buff", "dev_scratch", 24),
        ("sk_buff", "len", 32),
        ("bits", "whole", 8),
        ("bits", "even", 2),
    ],
)
@pytest.mark.parametrize("order", ["<", ">"], ids=["little", "big"])
def test_a_members_offset_is_found(order: str, name: str, path: str, offset: int) -> None:
    """Members are found by path: direct, in a typedef's struct, in anonymous members, in either byte order."""
    assert Btf(blob(order)).member_offset(name, path) == offset


@pytest.mark.parametrize(
    ("name", "path"),
    [("absent", "a"), ("first", "c"), ("first", "a.b"), ("net_device", "net"), ("net", "a"), ("bits", "half")],
)
def test_what_the_kernel_lacks_is_unsupported(name: str, path: str) -> None:
    """A missing type or member, a path through an int, a forward declaration and a bit field are Unsupported."""
    with pytest.raises(Unsupported, match=name):
        Btf(blob()).member_offset(name, path)


def test_a_name_that_ends_another_is_not_mixed_up() -> None:
    """Looking for device does not find net_device."""
    with pytest.raises(Unsupported, match="no type device"):
        Btf(blob()).member_offset("device", "flags")


def test_enumerators_have_the_prefix_taken_off_where_it_stands() -> None:
    """Values map to names; one without the prefix keeps its whole name."""
    assert Btf(blob()).enumerators("skb_drop_reason", "SKB_DROP_REASON_") == {
        1: "SKB_CONSUMED",
        3: "NO_SOCKET",
        0xFFFF0000: "MASK",
    }


def test_a_signed_enums_values_are_signed() -> None:
    """The kind flag of an enum says that its values are signed."""
    assert Btf(blob()).enumerators("signed") == {-1: "MINUS", 1: "ONE"}


def test_every_truncation_is_unsupported() -> None:
    """A section cut short anywhere raises Unsupported, and nothing else."""
    data = blob()
    for length in range(len(data)):
        with pytest.raises(Unsupported):
            Btf(data[:length])


@given(st.binary(max_size=200))
def test_garbage_never_raises_anything_but_perpkts_own_errors(tail: bytes) -> None:
    """Arbitrary bytes after a good header's magic end in an answer or an error of perpkt's."""
    ask(b"\x9f\xeb" + tail)


@given(st.integers(24, len(blob()) - 1), st.integers(0, 255))
def test_a_changed_byte_never_raises_anything_but_perpkts_own_errors(position: int, value: int) -> None:
    """One wrong byte in the types or names ends in an answer or an error of perpkt's."""
    data = bytearray(blob())
    data[position] = value
    ask(bytes(data))


def ask(data: bytes) -> None:
    """Read and look up; an error of perpkt's is an answer too."""
    try:
        types = Btf(data)
        types.member_offset("sk_buff", "dev")
        types.enumerators("skb_drop_reason")
    except PerpktError:
        pass


def test_types_that_contain_or_name_themselves_end() -> None:
    """An anonymous struct in itself and a typedef of itself are refused instead of followed for ever."""
    writer = Writer()
    writer.aggregate(STRUCT, "round", ("", 2, 0))
    writer.aggregate(STRUCT, "", ("", 2, 0))
    writer.aggregate(STRUCT, "named", ("loop", 4, 0))
    writer.add(TYPEDEF, "loop", 4)
    types = Btf(writer.data())
    with pytest.raises(Unsupported, match="without end"):
        types.member_offset("round", "x")
    with pytest.raises(Unsupported, match="no member"):
        types.member_offset("named", "loop.x")


@pytest.mark.parametrize("kind", [0, 20, 31])
def test_an_unknown_kind_is_unsupported(kind: int) -> None:
    """A kind whose length perpkt does not know ends the reading: what follows can't be found."""
    writer = Writer()
    writer.add(kind, "new", 0)
    with pytest.raises(Unsupported, match="kind"):
        Btf(writer.data())


def test_a_kernel_without_btf_is_unsupported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file is Unsupported and says what to do."""
    monkeypatch.setattr(btf, "VMLINUX", btf.VMLINUX / "absent")
    btf.running_kernel.cache_clear()
    with pytest.raises(Unsupported, match="CONFIG_DEBUG_INFO_BTF"):
        btf.running_kernel()
    btf.running_kernel.cache_clear()
