"""The few parts of the netlink protocol that rtnetlink.py and cls_bpf.py share: header, attributes, refusals.

Layouts: include/uapi/linux/netlink.h. A library would do it all; it would also cost more than the
calls that are accounted for by it (docs/design.md).
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from typing import TYPE_CHECKING

from perpkt.errors import NetlinkError, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

RTMGRP_LINK = 1  # told of links that come, change and go

NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE = 1, 4, 0x200, 0x400
NLMSG_ERROR = 2
_NETLINK_ROUTE, _SOL_NETLINK = 0, 270
_NETLINK_CAP_ACK, _NETLINK_EXT_ACK = 10, 11
_NLM_F_CAPPED, _NLM_F_ACK_TLVS = 0x100, 0x200
_NLMSGERR_ATTR_MSG = 1

HEADER = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence, port
_ATTRIBUTE = struct.Struct("=HH")  # nlattr: length, type
_ERROR = struct.Struct("=i")  # nlmsgerr.error, before the header of the refused request
_REPLY_BYTES = 8192


def open_socket(groups: int = 0) -> socket.socket:
    """A NETLINK_ROUTE socket of the thread's namespace, which hears of `groups`; NetlinkError where it is refused."""
    try:
        opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_ROUTE)
    except OSError as error:
        raise NetlinkError("open a NETLINK_ROUTE socket", error.errno or 0) from error
    for option in (_NETLINK_CAP_ACK, _NETLINK_EXT_ACK):
        try:
            opened.setsockopt(_SOL_NETLINK, option, 1)
        except OSError:
            break  # an older kernel: its errors come without words
    if groups:
        opened.bind((0, groups))
    return opened


def message(kind: int, flags: int, sequence: int, payload: bytes) -> bytes:
    """A whole message: nlmsghdr and payload."""
    return HEADER.pack(HEADER.size + len(payload), kind, NLM_F_REQUEST | flags, sequence, 0) + payload


def attribute(kind: int, payload: bytes) -> bytes:
    """One nlattr, padded to four bytes."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(payload), kind) + payload + bytes(-len(payload) % 4)


def request(act: str, kind: int, payload: bytes, flags: int = 0) -> None:
    """Send one request in the thread's namespace and wait for its ack; NetlinkError with the kernel's words."""
    with open_socket() as opened:
        opened.send(message(kind, NLM_F_ACK | flags, 1, payload))
        reply = memoryview(opened.recv(_REPLY_BYTES))
    if _ERROR.unpack_from(reply, HEADER.size)[0]:
        raise refusal(act, reply)


def attributes(message: memoryview, position: int) -> Iterator[tuple[int, memoryview]]:
    """(type, payload) of each attribute from `position` on, to the first one that does not fit."""
    while position + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, position)
        if length < _ATTRIBUTE.size or position + length > len(message):
            return
        yield kind, message[position + _ATTRIBUTE.size : position + length]
        position += length + 3 & ~3


def refusal(act: str, message: memoryview) -> NetlinkError | Unsupported:
    """The error that an NLMSG_ERROR message stands for, with its extended ack's words."""
    if len(message) < 2 * HEADER.size + _ERROR.size:
        return NetlinkError(act, errno.EBADMSG, "the kernel's error message is truncated")
    number = -int(_ERROR.unpack_from(message, HEADER.size)[0])
    if number == errno.EOPNOTSUPP:
        return Unsupported(f"{act}: {os.strerror(number)}", "The running kernel lacks it: a newer one may not.")
    words = _extended_ack(message, HEADER.unpack_from(message)[2])
    return NetlinkError(act, number, f"{os.strerror(number)}: {words}" if words else "")


def _extended_ack(message: memoryview, flags: int) -> str:
    """NLMSGERR_ATTR_MSG of an error message, or nothing; the refused request stands before it unless capped."""
    if not flags & _NLM_F_ACK_TLVS:
        return ""
    position = HEADER.size + _ERROR.size
    echoed = HEADER.size if flags & _NLM_F_CAPPED else int(HEADER.unpack_from(message, position)[0])
    words = dict(attributes(message, position + (echoed + 3 & ~3))).get(_NLMSGERR_ATTR_MSG)
    return bytes(words).rstrip(b"\0").decode(errors="replace") if words else ""
