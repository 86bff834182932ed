"""Sockets that receive a path's packets while nobody reads them, and that say what they got."""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
from typing import Literal

from perpkt.errors import KernelError, MeasurementError

SO_ATTACH_FILTER, SO_RCVBUFFORCE, SO_MEMINFO = 26, 33, 55
SOL_PACKET, PACKET_STATISTICS, ETH_P_ALL = 263, 6, 3
# the largest that the kernel can double without overflow
_ROOM_BYTES = (1 << 30) - 1
_REFUSE_ALL = struct.pack("<HBBI", 0x06, 0, 0, 0)  # classic BPF: ret #0


class UdpSink:
    """A bound UDP socket; `mode` as in spec.UdpSocket."""

    def __init__(self, address: str, port: int, mode: Literal["queued", "full", "filtered"]) -> None:
        self._mode = mode
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._prepare()
            self._socket.bind((address, port))
        except OSError as error:
            self._socket.close()
            raise KernelError(f"bind a UDP socket to {address}:{port}", error.errno or 0) from None
        self._truesize = 0
        self._base = 0

    def _prepare(self) -> None:
        self._socket.setblocking(False)
        if self._mode == "queued":
            self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, _ROOM_BYTES)
        elif self._mode == "full":
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        else:
            _attach_filter(self._socket, _REFUSE_ALL)

    def settle(self) -> None:
        """After a warm-up: empty a queue that must have room, and learn what one packet takes of it."""
        if self._mode == "queued":
            held = self._held_bytes()
            count = _drain(self._socket)
            self._truesize = held // count if count and held % count == 0 else 0
        self._base = self._held_bytes()

    def received(self) -> int:
        """Packets queued since `settle`, from the memory that they hold (SO_MEMINFO, exact)."""
        held = self._held_bytes() - self._base
        if held == 0:
            return 0
        if self._truesize == 0 or held % self._truesize:
            raise MeasurementError(f"a UDP socket holds {held} bytes, no whole number of packets: it can't be counted")
        return held // self._truesize

    def drained(self) -> int:
        """Packets read until none was left: a second, slower witness."""
        return _drain(self._socket)

    def _held_bytes(self) -> int:
        return int(struct.unpack("<9I", self._socket.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36))[0])

    def close(self) -> None:
        """Free what is queued."""
        self._socket.close()


class PacketTap:
    """A packet socket on one device that takes every frame it receives."""

    def __init__(self, device: str) -> None:
        try:
            # protocol 0 first: nothing is taken before the device is set
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, _ROOM_BYTES)
            self._socket.bind((device, ETH_P_ALL))
        except OSError as error:
            raise KernelError(f"open a packet socket on {device}", error.errno or 0) from None
        self._taken = 0

    def settle(self) -> None:
        """Start counting from here."""
        self._read()
        self._taken = 0

    def tapped(self) -> int:
        """Frames queued since `settle`; those that were dropped for want of room are not in it."""
        self._taken += self._read()
        return self._taken

    def _read(self) -> int:
        # reading PACKET_STATISTICS sets it to zero
        packets, drops = struct.unpack("<2I", self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        return int(packets) - int(drops)

    def close(self) -> None:
        """Free what is queued."""
        self._socket.close()


def _drain(receiver: socket.socket) -> int:
    count = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            receiver.recv(1)
            count += 1
    return count


def _attach_filter(receiver: socket.socket, code: bytes) -> None:
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    receiver.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
