"""wire.frame: every byte of a frame, against RFC 768, 791 and 1071."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpkt.wire import frame

MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02")
ADDRESSES = ("198.18.0.1", "198.18.0.2")
IPV4 = st.ip_addresses(v=4).map(str)


def verified(data: bytes) -> bool:
    """RFC 1071's check of a receiver, computed another way: modulo 65535 the sum of all words is 0."""
    return int.from_bytes(data, "big") % 0xFFFF == 0


def test_checksum_of_the_rfc() -> None:
    """RFC 1071's own example sums to ddf2."""
    assert frame.internet_checksum(bytes.fromhex("0001f203f4f5f6f7")) == ~0xDDF2 & 0xFFFF


def test_checksum_of_a_known_header() -> None:
    """The header that Wikipedia's IPv4 article computes by hand has checksum b861."""
    header = bytes.fromhex("450000730000400040110000c0a80001c0a800c7")
    assert frame.internet_checksum(header) == 0xB861


@given(st.binary(min_size=2, max_size=200).filter(lambda data: len(data) % 2 == 0))
def test_checksum_verifies(data: bytes) -> None:
    """Data followed by its checksum passes a receiver's check."""
    assert verified(data + struct.pack("!H", frame.internet_checksum(data)))


@given(IPV4, IPV4, st.integers(0, 65515))
def test_header(source: str, destination: str, payload_bytes: int) -> None:
    """An IPv4 header passes the check and says what it was told: length, DF, UDP, addresses."""
    header = frame.ipv4_header(source, destination, payload_bytes)
    version, tos, length, identification, fragment, ttl, protocol = struct.unpack("!BBHHHBB", header[:10])
    assert verified(header)
    assert (version, tos, length, identification, fragment) == (0x45, 0, 20 + payload_bytes, 0, 0x4000)
    assert (ttl, protocol) == (64, 17)
    assert header[12:16] == bytes(map(int, source.split(".")))
    assert header[16:20] == bytes(map(int, destination.split(".")))


def test_whole_frame() -> None:
    """A 60-byte frame is these bytes."""
    made = frame.udp_frame(MACS, ADDRESSES, (9, 7), 60)
    ethernet = "0200000000010200000000020800"
    ip = "4500002e000040004011ae97c6120002c6120001"
    assert made.hex() == ethernet + ip + "00070009001a0000" + "00" * 18


@given(st.integers(frame.HEADERS_BYTES, 4096), IPV4, IPV4, st.integers(0, 65535), st.integers(0, 65535))
def test_lengths_agree(frame_bytes: int, to: str, source: str, to_port: int, source_port: int) -> None:
    """A frame has the bytes that were asked for, and IPv4 and UDP say so; ports stand source first."""
    made = frame.udp_frame(MACS, (to, source), (to_port, source_port), frame_bytes)
    assert len(made) == frame_bytes
    assert struct.unpack("!H", made[16:18]) == (frame_bytes - 14,)
    assert struct.unpack("!HHHH", made[34:42]) == (source_port, to_port, frame_bytes - 34, 0)
    assert verified(made[14:34])


@given(IPV4, IPV4)
def test_offsets(to: str, source: str) -> None:
    """The offsets that the injector rewrites hold the destination address and the header's checksum."""
    made = frame.udp_frame(MACS, (to, source), (9, 9), 60)
    at = frame.DESTINATION_OFFSET
    assert made[at : at + 4] == bytes(map(int, to.split(".")))
    header = bytearray(made[14:34])
    header[frame.CHECKSUM_OFFSET - 14 : frame.CHECKSUM_OFFSET - 12] = b"\0\0"
    assert struct.unpack_from("!H", made, frame.CHECKSUM_OFFSET) == (frame.internet_checksum(bytes(header)),)


@pytest.mark.parametrize("mac", ["02:00:00:00:00:99", "ff:ff:ff:ff:ff:ff"])
def test_mac(mac: str) -> None:
    """A MAC address is its six bytes in order."""
    assert frame.mac_bytes(mac) == bytes(int(part, 16) for part in mac.split(":"))


def test_other_host_is_no_device() -> None:
    """The other host's MAC is unicast and locally administered."""
    assert frame.mac_bytes(frame.OTHER_HOST_MAC)[0] & 0b11 == 0b10
