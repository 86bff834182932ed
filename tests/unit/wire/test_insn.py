"""wire.insn: encodings against those that the kernel's documents and headers give."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpkt.wire import insn
from perpkt.wire.insn import Label, alu, assemble, jump, jump_reg, leave

# Bytes as Documentation/bpf/standardization/instruction-set.rst and the macros of include/linux/filter.h
# have them: code, registers (source << 4 | destination), 16 bits of offset, 32 bits of immediate.
KNOWN = [
    (alu("mov", 0, -1), "b7 00 0000 ffffffff"),  # BPF_MOV64_IMM(R0, -1)
    (alu("add", 3, 34), "07 03 0000 22000000"),  # BPF_ALU64_IMM(BPF_ADD, R3, 34)
    (alu("sub", 3, 1), "17 03 0000 01000000"),
    (alu("or", 3, 1), "47 03 0000 01000000"),
    (alu("and", 5, 1), "57 05 0000 01000000"),
    (alu("lsh", 5, 3), "67 05 0000 03000000"),
    (alu("rsh", 4, 9), "77 04 0000 09000000"),
    (alu("xor", 4, 9), "a7 04 0000 09000000"),
    (insn.alu_reg("mov", 7, 1), "bf 17 0000 00000000"),  # BPF_MOV64_REG(R7, R1)
    (insn.alu_reg("add", 5, 6), "0f 65 0000 00000000"),
    (insn.load(4, 1, 7, 0), "61 71 0000 00000000"),  # BPF_LDX_MEM(BPF_W, R1, R7, 0)
    (insn.load(2, 3, 5, 20), "69 53 1400 00000000"),
    (insn.load(1, 3, 5, -1), "71 53 ffff 00000000"),
    (insn.load(8, 8, 6, 0), "79 68 0000 00000000"),
    (insn.store(4, 1, 30, 3), "63 31 1e00 00000000"),  # BPF_STX_MEM(BPF_W, R1, R3, 30)
    (insn.store(2, 1, 24, 3), "6b 31 1800 00000000"),
    (insn.store(1, 1, 24, 3), "73 31 1800 00000000"),
    (insn.store(8, 10, -8, 0), "7b 0a f8ff 00000000"),
    (insn.atomic_add(6, 8, 1), "db 16 0800 00000000"),  # BPF_ATOMIC_OP(BPF_DW, BPF_ADD, R6, R1, 8)
    (insn.call(insn.KTIME_GET_NS), "85 00 0000 05000000"),  # BPF_EMIT_CALL(BPF_FUNC_ktime_get_ns)
    (leave(), "95 00 0000 00000000"),
    (insn.load_map(insn.MAP_FD, 1, 7), "18 11 0000 07000000 00 00 0000 00000000"),  # BPF_LD_MAP_FD(R1, 7)
    (insn.load_map(insn.MAP_VALUE, 6, 5, 64), "18 26 0000 05000000 00 00 0000 40000000"),
    (insn.load_immediate(2, 0x1122334455667788), "18 02 0000 88776655 00 00 0000 44332211"),
]
JUMPS = {"ja": "05", "jeq": "15", "jgt": "25", "jge": "35", "jne": "55"}
REGISTER_JUMPS = {"jeq": "1d", "jgt": "2d", "jge": "3d", "jne": "5d"}


@pytest.mark.parametrize(("made", "known"), KNOWN, ids=[known for _, known in KNOWN])
def test_encoding(made: bytes, known: str) -> None:
    """An instruction has the bytes that the kernel's documents give it."""
    assert made == bytes.fromhex(known)


@pytest.mark.parametrize("operation", JUMPS)
def test_jump_encoding(operation: str) -> None:
    """A jump's offset counts the instructions between it and its label."""
    made = assemble([jump(operation, 4, 2, "end"), leave(), leave(), Label("end"), leave()])
    assert made[:8] == bytes.fromhex(f"{JUMPS[operation]} 04 0200 02000000")


@pytest.mark.parametrize("operation", REGISTER_JUMPS)
def test_register_jump_encoding(operation: str) -> None:
    """A jump that compares two registers has the X bit and the second register."""
    made = assemble([jump_reg(operation, 3, 2, "end"), Label("end"), leave()])
    assert made[:8] == bytes.fromhex(f"{REGISTER_JUMPS[operation]} 23 0000 00000000")


def test_wide_instructions_count_twice() -> None:
    """A jump over a 16-byte load passes two instructions."""
    made = assemble([jump("ja", 0, 0, "end"), insn.load_immediate(1, 0), Label("end"), leave()])
    assert struct.unpack_from("<h", made, 2) == (2,)


def test_backward_jump() -> None:
    """A jump to a label before it goes back over itself."""
    made = assemble([Label("start"), leave(), jump("ja", 0, 0, "start")])
    assert struct.unpack_from("<h", made, 10) == (-2,)


def test_unknown_label() -> None:
    """A jump to a label that is not there is a KeyError, not an offset."""
    with pytest.raises(KeyError, match="nowhere"):
        assemble([jump("ja", 0, 0, "nowhere"), leave()])


@given(st.lists(st.sampled_from(["one", "wide", "jump", "label"]), max_size=30))
def test_labels_take_no_room(kinds: list[str]) -> None:
    """Each jump is 8 bytes, a label none, and every jump lands on the end that it names."""
    pieces: dict[str, insn.Item] = {
        "one": leave(),
        "wide": insn.load_immediate(1, 5),
        "jump": jump("ja", 0, 0, "end"),
        "label": Label("x"),
    }
    code = assemble([*(pieces[kind] for kind in kinds), Label("end"), leave()])
    sizes = {"one": 8, "wide": 16, "jump": 8, "label": 0}
    assert len(code) == sum(sizes[kind] for kind in kinds) + 8
    at = 0
    for kind in kinds:
        if kind == "jump":
            assert at + 8 + 8 * struct.unpack_from("<h", code, at + 2)[0] == len(code) - 8
        at += sizes[kind]


@given(
    st.integers(0, 255),
    st.integers(0, 10),
    st.integers(0, 15),
    st.integers(-32768, 32767),
    st.integers(-(2**31), 2**32 - 1),
)
def test_fields(opcode: int, dst: int, src: int, offset: int, immediate: int) -> None:
    """The five fields of an instruction can be read back, the immediate as signed or unsigned."""
    code, registers, read_offset, read_immediate = struct.unpack(
        "<BBhI", insn.encode(opcode, dst, src, offset, immediate)
    )
    assert (code, registers & 15, registers >> 4, read_offset) == (opcode, dst, src, offset)
    assert read_immediate == immediate % 2**32
