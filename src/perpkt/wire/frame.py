"""Ethernet frames: UDP over IPv4, checksums included."""

from __future__ import annotations

import ipaddress
import struct

ETH_P_IP = 0x0800
OTHER_HOST_MAC = "02:00:00:00:00:99"  # no device of perpkt has it
HEADERS_BYTES = 42  # Ethernet, IPv4 without options, UDP
DESTINATION_OFFSET = 30  # of the IPv4 destination address in the frame
CHECKSUM_OFFSET = 24  # of the IPv4 header checksum in the frame


def internet_checksum(data: bytes) -> int:
    """RFC 1071's checksum of an even number of bytes."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def mac_bytes(mac: str) -> bytes:
    """The six bytes of 02:00:00:00:00:01."""
    return bytes.fromhex(mac.replace(":", ""))


def ipv4_header(source: str, destination: str, payload_bytes: int) -> bytes:
    """A 20-byte header with DF set and protocol UDP."""
    head = struct.pack("!BBHHHBB", 0x45, 0, 20 + payload_bytes, 0, 0x4000, 64, 17)
    addresses = ipaddress.IPv4Address(source).packed + ipaddress.IPv4Address(destination).packed
    return head + struct.pack("!H", internet_checksum(head + b"\0\0" + addresses)) + addresses


def udp_frame(macs: tuple[str, str], addresses: tuple[str, str], ports: tuple[int, int], frame_bytes: int) -> bytes:
    """A frame of `frame_bytes` (Ethernet header included, FCS not); each pair is (destination, source).

    The UDP checksum is 0, "none" (RFC 768), so that the destination can change without it.
    """
    payload_bytes = frame_bytes - HEADERS_BYTES
    udp = struct.pack("!HHHH", ports[1], ports[0], 8 + payload_bytes, 0)
    ethernet = mac_bytes(macs[0]) + mac_bytes(macs[1]) + struct.pack("!H", ETH_P_IP)
    return ethernet + ipv4_header(addresses[1], addresses[0], 8 + payload_bytes) + udp + bytes(payload_bytes)
