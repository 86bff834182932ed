"""perpkt.kernel.drop_reasons against the kernel's own counters."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct
from typing import TYPE_CHECKING

import pytest

from perpkt.errors import Unsupported
from perpkt.kernel import btf, drop_reasons
from perpkt.kernel.drop_reasons import DropReasons, netns_cookie

if TYPE_CHECKING:
    from pathlib import Path

    from tests.netns.conftest import Place

PACKETS = 3000
LOCAL, PORT, OTHER_MAC = "198.18.0.1", 7000, "02:00:00:00:00:99"
SO_ATTACH_FILTER = 26


def cookie(place: Place) -> int:
    """The namespace's cookie."""
    with place.entered():
        return netns_cookie()


def receiver(place: Place) -> socket.socket:
    """A UDP socket in the namespace, bound to LOCAL, PORT."""
    with place.entered():
        opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    opened.bind((LOCAL, PORT))
    return opened


def drain(receiver: socket.socket) -> int:
    """Read what is queued; returns the packets."""
    packets = 0
    with contextlib.suppress(BlockingIOError):
        while receiver.recv(2048, socket.MSG_DONTWAIT):
            packets += 1
    return packets


def refuse_all(receiver: socket.socket) -> None:
    """Attach the classic BPF filter `ret #0`."""
    code = ctypes.create_string_buffer(struct.pack("=HBBI", 0x06, 0, 0, 0))
    receiver.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("@HP", 1, ctypes.addressof(code)))


def only(monkeypatch: pytest.MonkeyPatch, *wanted: int) -> None:
    """Leave the program these of its roads to the namespace: 0 the device, 1 the receiving socket, 2 the route."""
    roads = drop_reasons._roads(with_socket=True)
    monkeypatch.setattr(drop_reasons, "_roads", lambda with_socket: [roads[which] for which in wanted])


def test_frames_for_another_host_are_counted_to_the_packet(place: Place) -> None:
    """OTHERHOST is what was sent and what the device's own statistic says."""
    with DropReasons(cookie(place)) as drops:
        place.receive(PACKETS, OTHER_MAC)
        counts = drops.counts()
    assert counts == {"OTHERHOST": PACKETS}
    assert place.link("vtest0")["stats64"]["rx"]["otherhost"] == PACKETS


@pytest.mark.parametrize("roads", [(0, 1, 2), (0,), (2,)], ids=["all", "device", "route"])
def test_packets_to_a_port_without_a_socket_are_counted_to_the_packet(
    place: Place, monkeypatch: pytest.MonkeyPatch, roads: tuple[int, ...]
) -> None:
    """NO_SOCKET is what was sent and NoPorts, by the skb's device and by its route."""
    only(monkeypatch, *roads)
    with DropReasons(cookie(place)) as drops:
        place.receive(PACKETS)
    assert drops.counts()["NO_SOCKET"] == place.udp()["NoPorts"] == PACKETS


@pytest.mark.parametrize("roads", [(0, 1, 2), (0,), (1,)], ids=["all", "device", "socket"])
def test_packets_to_a_full_socket_are_counted_to_the_packet(
    place: Place, monkeypatch: pytest.MonkeyPatch, roads: tuple[int, ...]
) -> None:
    """SOCKET_RCVBUFF is RcvbufErrors, and with the queued packets what was sent."""
    only(monkeypatch, *roads)
    with receiver(place) as opened:
        with DropReasons(cookie(place)) as drops:
            place.receive(PACKETS)
        queued = drain(opened)
    dropped = place.udp()["RcvbufErrors"]
    assert drops.counts() == {"SOCKET_RCVBUFF": dropped}
    assert (queued > 0, dropped) == (True, PACKETS - queued)


@pytest.mark.parametrize("roads", [(0, 1, 2), (0,), (1,)], ids=["all", "device", "socket"])
def test_packets_that_a_socket_filter_refuses_are_counted_to_the_packet(
    place: Place, monkeypatch: pytest.MonkeyPatch, roads: tuple[int, ...]
) -> None:
    """SOCKET_FILTER is what was sent and InErrors."""
    only(monkeypatch, *roads)
    with receiver(place) as opened, DropReasons(cookie(place)) as drops:
        refuse_all(opened)
        place.receive(PACKETS)
    assert drops.counts() == {"SOCKET_FILTER": PACKETS}
    assert place.udp()["InErrors"] == PACKETS


def test_another_namespaces_drops_are_not_counted(place: Place, elsewhere: Place) -> None:
    """Drops are told apart by namespace even when device, addresses and reason are the same."""
    with DropReasons(cookie(place)) as here, DropReasons(cookie(elsewhere)) as there:
        elsewhere.receive(PACKETS, OTHER_MAC)
    assert (here.counts(), there.counts()) == ({}, {"OTHERHOST": PACKETS})


def test_nothing_is_counted_after_exit(place: Place) -> None:
    """Exit detaches: the counts stay as they were, and no descriptor is left open."""
    drops = DropReasons(cookie(place))
    before = len(os.listdir("/proc/self/fd"))
    with drops:
        place.receive(10, OTHER_MAC)
    assert len(os.listdir("/proc/self/fd")) == before
    place.receive(PACKETS, OTHER_MAC)
    assert drops.counts() == {"OTHERHOST": 10}


def test_a_tracepoint_without_the_receiving_socket_is_enough(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program for kernels before v6.11 loads, attaches and counts."""
    program = drop_reasons._program
    monkeypatch.setattr(
        drop_reasons,
        "_program",
        lambda histogram, cookie, with_socket: program(histogram, cookie, with_socket=False),
    )
    with DropReasons(cookie(place)) as drops:
        place.receive(PACKETS, OTHER_MAC)
    assert drops.counts() == {"OTHERHOST": PACKETS}


def test_too_many_arguments_are_refused_at_the_attachment(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading one argument more than the tracepoint has ends in the program without it, not in an error."""
    monkeypatch.setattr(drop_reasons, "_RX_SK", 32)
    with DropReasons(cookie(place)) as drops:
        place.receive(PACKETS, OTHER_MAC)
    assert drops.counts() == {"OTHERHOST": PACKETS}


def test_a_kernel_without_btf_is_unsupported(
    netns: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Without BTF the answer is Unsupported, and it says what to do."""
    monkeypatch.setattr(btf, "VMLINUX", tmp_path / "vmlinux")
    btf.running_kernel.cache_clear()
    try:
        with pytest.raises(Unsupported, match="CONFIG_DEBUG_INFO_BTF"):
            DropReasons(1)
    finally:
        btf.running_kernel.cache_clear()
