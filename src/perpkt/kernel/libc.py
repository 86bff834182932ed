"""System calls that Python's os module lacks, through the C library."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
from collections.abc import Iterator

from perpkt.errors import KernelError, Unsupported

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNET = 0x40000000
_SYS_BPF = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "s390x": 351, "ppc64le": 361}


def bpf(command: int, attributes: ctypes.Array[ctypes.c_char]) -> int:
    """bpf(2): the return value, or -errno."""
    number = _SYS_BPF.get(platform.machine())
    if number is None:
        raise Unsupported(f"bpf(2) has no known number on {platform.machine()}", "Report the machine type.")
    value = int(_libc.syscall(number, command, ctypes.byref(attributes), ctypes.sizeof(attributes)))
    return value if value >= 0 else -ctypes.get_errno()


def setns(fd: int, kind: int = CLONE_NEWNET) -> None:
    """Move this thread into the namespace of `fd` (os.setns is there from Python 3.12 on)."""
    if _libc.setns(fd, kind) != 0:
        errno = ctypes.get_errno()
        raise KernelError(f"setns to {os.readlink(f'/proc/self/fd/{fd}')}", errno)


@contextlib.contextmanager
def entered(fd: int) -> Iterator[None]:
    """This thread, and the programs that it starts, are in the namespace of `fd` for the length of the block."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        setns(fd)
        try:
            yield
        finally:
            setns(own)
    finally:
        os.close(own)
