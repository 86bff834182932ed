"""Link statistics over NETLINK_ROUTE: one request and one reply, without starting `ip`.

Layouts: include/uapi/linux/rtnetlink.h and if_link.h. RTM_GETSTATS: Linux kernel commit
10c9ead ("rtnetlink: add new RTM_GETSTATS message to dump link stats") (in v4.7).
"""

from __future__ import annotations

import errno
import struct
from typing import Self

from perpkt.errors import NetlinkError
from perpkt.kernel import netlink
from perpkt.kernel.netlink import HEADER

# struct rtnl_link_stats64, in order; kernels append to it, so an older one sends fewer.
FIELDS = (
    "rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped",
    "multicast", "collisions", "rx_length_errors", "rx_over_errors", "rx_crc_errors", "rx_frame_errors",
    "rx_fifo_errors", "rx_missed_errors", "tx_aborted_errors", "tx_carrier_errors", "tx_fifo_errors",
    "tx_heartbeat_errors", "tx_window_errors", "rx_compressed", "tx_compressed", "rx_nohandler",
    "rx_otherhost_dropped",
)  # fmt: skip

_RTM_NEWSTATS, _RTM_GETSTATS = 92, 94
_IFLA_STATS_LINK_64 = 1
_FILTER = 1 << (_IFLA_STATS_LINK_64 - 1)  # IFLA_STATS_FILTER_BIT

_STATS_MESSAGE = struct.Struct("=B3xII")  # if_stats_msg: family, ifindex, filter_mask
_REPLY_BYTES = 4096  # a reply with this one attribute has about 240


class LinkStatistics:
    """The statistics of device `ifindex` of the namespace that the thread is in when it makes this.

    They stay readable from any namespace; closed by close() or at the end of a with block.
    Raises NetlinkError where the socket is refused.
    """

    def __init__(self, ifindex: int) -> None:
        self._ifindex = ifindex
        self._sequence = 0
        self._reply = bytearray(_REPLY_BYTES)
        self._socket = netlink.open_socket()

    def read(self) -> dict[str, int]:
        """The fields of struct rtnl_link_stats64 that this kernel knows, as counted since the device was made.

        Raises NetlinkError for a device that is gone, Unsupported for a kernel without RTM_GETSTATS.
        """
        self._sequence += 1
        act = f"read the statistics of ifindex {self._ifindex}"
        try:
            self._socket.send(_request(self._ifindex, self._sequence))
            message = self._receive()
        except OSError as error:
            raise NetlinkError(act, error.errno or 0) from error
        return _statistics(act, message)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _receive(self) -> memoryview:
        """The reply to the last request; an earlier one that an interrupted read left behind is passed over."""
        while True:
            length = self._socket.recv_into(self._reply)
            if length >= HEADER.size and HEADER.unpack_from(self._reply)[3] == self._sequence:
                return memoryview(self._reply)[:length]


def _request(ifindex: int, sequence: int) -> bytes:
    return netlink.message(_RTM_GETSTATS, 0, sequence, _STATS_MESSAGE.pack(0, ifindex, _FILTER))


def _statistics(act: str, message: memoryview) -> dict[str, int]:
    kind = HEADER.unpack_from(message)[1]
    if kind == netlink.NLMSG_ERROR:
        raise netlink.refusal(act, message)
    attributes = dict(netlink.attributes(message, HEADER.size + _STATS_MESSAGE.size))
    values = attributes.get(_IFLA_STATS_LINK_64) if kind == _RTM_NEWSTATS else None
    if values is None:
        raise NetlinkError(act, errno.EBADMSG, f"the reply (type {kind}) holds no IFLA_STATS_LINK_64")
    return dict(zip(FIELDS, struct.unpack_from(f"={len(values) // 8}Q", values), strict=False))
