"""bpf(2): maps, programs, links, and test runs that send live frames.

Names and layouts: union bpf_attr in include/uapi/linux/bpf.h.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
from dataclasses import dataclass

from perpkt.errors import BpfError
from perpkt.kernel import libc

MAP_CREATE, PROG_LOAD, PROG_TEST_RUN = 0, 5, 10
OBJ_GET_INFO_BY_FD, RAW_TRACEPOINT_OPEN, LINK_CREATE = 15, 17, 28
LINK_GET_FD_BY_ID, LINK_GET_NEXT_ID, ENABLE_STATS = 30, 31, 32
TCX_LINKS = (11, 13)  # BPF_LINK_TYPE_TCX, BPF_LINK_TYPE_NETKIT

SCHED_CLS, XDP, RAW_TRACEPOINT = 3, 6, 17
ARRAY = 2
F_MMAPABLE = 1 << 10
F_TEST_XDP_LIVE_FRAMES = 1 << 1
XDP_ATTACH, TCX_INGRESS = 37, 46
XDP_FLAGS_DRV_MODE = 1 << 2

XDP_DROP, XDP_PASS = 1, 2

_ATTR_BYTES = 160
_LOG_BYTES = 65536


def _bpf(command: int, attributes: bytes) -> int:
    return libc.bpf(command, ctypes.create_string_buffer(attributes, max(_ATTR_BYTES, len(attributes))))


def _checked(act: str, command: int, attributes: bytes) -> int:
    value = _bpf(command, attributes)
    if value < 0:
        raise BpfError(act, -value)
    return value


def create_array(value_bytes: int, entries: int = 1, flags: int = F_MMAPABLE) -> int:
    """A BPF_MAP_TYPE_ARRAY; returns its descriptor."""
    return _checked("create a BPF array", MAP_CREATE, struct.pack("<5I", ARRAY, 4, value_bytes, entries, flags))


def map_array(fd: int, total_bytes: int) -> mmap.mmap:
    """The values of a mmapable array, shared with the programs that use it."""
    return mmap.mmap(fd, total_bytes, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)


def load_program(kind: int, instructions: bytes, name: str, attach_type: int = 0) -> int:
    """Verify and load; returns the descriptor. BpfError holds the verifier's last words."""
    code = ctypes.create_string_buffer(instructions)
    licence = ctypes.create_string_buffer(b"GPL")
    log = ctypes.create_string_buffer(_LOG_BYTES)

    def attributes(log_level: int) -> bytes:
        return struct.pack(
            "<IIQQIIQII16sII",
            kind, len(instructions) // 8, ctypes.addressof(code), ctypes.addressof(licence),
            log_level, _LOG_BYTES if log_level else 0, ctypes.addressof(log) if log_level else 0,
            0, 0, name.encode()[:15], 0, attach_type,
        )  # fmt: skip

    fd = _bpf(PROG_LOAD, attributes(0))
    if fd < 0:
        _bpf(PROG_LOAD, attributes(1))
        words = log.value.decode(errors="replace").strip().splitlines()
        raise BpfError(f"load BPF program {name}", -fd, "; ".join([os.strerror(-fd), *words[-3:]]))
    return fd


@dataclass(frozen=True, slots=True)
class LiveRun:
    """What one call of live frames came back with; `errno` is 0 or EINTR."""

    errno: int
    duration_ns_per_packet: int


def run_live_frames(program: int, frame: bytes, ifindex: int, packets: int, batch: int) -> LiveRun:
    """Send `frame` `packets` times as if `ifindex` (in this thread's namespace) had received it.

    BPF_PROG_TEST_RUN with BPF_F_TEST_XDP_LIVE_FRAMES: Linux kernel commit b530e9e1063e
    ("bpf: Add "live packet" mode for XDP in BPF_PROG_RUN") (in v5.18). A handled signal ends
    the call early with EINTR: the program's own count says how many were sent.
    """
    data = ctypes.create_string_buffer(frame, len(frame))
    context = ctypes.create_string_buffer(struct.pack("<6I", 0, len(frame), 0, ifindex, 0, 0), 24)
    attributes = ctypes.create_string_buffer(
        struct.pack(
            "<4IQQ4IQQ3I",
            program, 0, len(frame), 0, ctypes.addressof(data), 0, packets, 0, 24, 0,
            ctypes.addressof(context), 0, F_TEST_XDP_LIVE_FRAMES, 0, batch,
        ),
        _ATTR_BYTES,
    )  # fmt: skip
    value = libc.bpf(PROG_TEST_RUN, attributes)
    if value < 0 and value != -errno.EINTR:
        raise BpfError(f"send live frames of {len(frame)} bytes into ifindex {ifindex}", -value)
    return LiveRun(-value, struct.unpack_from("<I", attributes, 36)[0])


def create_link(program: int, ifindex: int, attach_type: int, flags: int = 0) -> int:
    """Attach `program` to `ifindex` (in this thread's namespace) until the descriptor is closed.

    TCX_INGRESS: Linux kernel commit e420bed02507 ("bpf: Add fd-based tcx multi-prog infra with
    link support") (in v6.6). XDP_ATTACH takes XDP_FLAGS_DRV_MODE for the driver's own mode.
    """
    attributes = struct.pack("<4I", program, ifindex, attach_type, flags)
    return _checked(f"attach a BPF program to ifindex {ifindex}", LINK_CREATE, attributes)


def open_raw_tracepoint(program: int, tracepoint: str) -> int:
    """Run `program` at a raw tracepoint until the descriptor is closed."""
    name = ctypes.create_string_buffer(tracepoint.encode())
    return _checked(
        f"attach to tracepoint {tracepoint}", RAW_TRACEPOINT_OPEN, struct.pack("<QI", ctypes.addressof(name), program)
    )


def enable_run_statistics() -> int:
    """Count program runs, machine-wide, until the descriptor is closed (BPF_ENABLE_STATS, v5.8)."""
    return _checked("count BPF program runs", ENABLE_STATS, struct.pack("<I", 0))


def run_count(program: int) -> int:
    """How often `program` ran while run statistics were on (struct bpf_prog_info.run_cnt)."""
    return int(struct.unpack_from("<Q", _info(program, 232), 200)[0])


def _info(fd: int, length: int) -> bytes:
    """struct bpf_prog_info or bpf_link_info, its first `length` bytes."""
    info = ctypes.create_string_buffer(length)
    _checked("read BPF object info", OBJ_GET_INFO_BY_FD, struct.pack("<IIQ", fd, length, ctypes.addressof(info)))
    return info.raw


def link_types() -> list[int]:
    """The type of each BPF link on the machine (enum bpf_link_type); needs CAP_SYS_ADMIN."""
    types: list[int] = []
    identifier = 0
    while (found := _next_link(identifier)) is not None:
        identifier = found
        fd = _bpf(LINK_GET_FD_BY_ID, struct.pack("<I", identifier))
        if fd >= 0:  # one that went away meanwhile is no more
            try:
                types.append(struct.unpack_from("<I", _info(fd, 16))[0])
            finally:
                os.close(fd)
    return types


def _next_link(identifier: int) -> int | None:
    attributes = ctypes.create_string_buffer(struct.pack("<I", identifier), _ATTR_BYTES)
    value = libc.bpf(LINK_GET_NEXT_ID, attributes)
    if value == -errno.ENOENT:
        return None
    if value < 0:
        raise BpfError("list BPF links", -value)
    return int(struct.unpack_from("<I", attributes, 4)[0])
