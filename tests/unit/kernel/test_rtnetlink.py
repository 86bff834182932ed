"""perpkt.kernel.rtnetlink's decoding, on messages that the test itself writes."""

from __future__ import annotations

import contextlib
import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpkt.errors import NetlinkError, PerpktError, Unsupported
from perpkt.kernel.rtnetlink import FIELDS, _statistics

ACT = "read the statistics of ifindex 7"
NLMSG_ERROR, RTM_NEWSTATS, LINK_64 = 2, 92, 1


def message(kind: int, payload: bytes, flags: int = 0) -> memoryview:
    """A netlink message of type `kind`, sequence 1."""
    return memoryview(struct.pack("=IHHII", 16 + len(payload), kind, flags, 1, 0) + payload)


def attribute(kind: int, payload: bytes) -> bytes:
    """A netlink attribute, padded."""
    padding = bytes(-len(payload) % 4)
    return struct.pack("=HH", 4 + len(payload), kind) + payload + padding


def statistics(fields: int) -> memoryview:
    """An RTM_NEWSTATS reply whose fields hold 1, 2, 3, ..."""
    values = struct.pack(f"={fields}Q", *range(1, fields + 1))
    return message(RTM_NEWSTATS, struct.pack("=B3xII", 0, 7, 1) + attribute(LINK_64, values))


@pytest.mark.parametrize("fields", [23, 24, 25, 26])
def test_a_kernels_struct_of_any_length_is_read(fields: int) -> None:
    """A field that an older kernel does not send is absent, one that perpkt does not know is passed over."""
    known = FIELDS[:fields]
    assert _statistics(ACT, statistics(fields)) == dict(zip(known, range(1, len(known) + 1), strict=True))


@pytest.mark.parametrize("capped", [True, False])
def test_an_error_has_the_kernels_words(capped: bool) -> None:
    """The extended ack's sentence stands behind the errno's, whether the request is echoed in full or capped."""
    request = struct.pack("=IHHII", 28, 94, 1, 1, 0) + (b"" if capped else bytes(12))
    payload = struct.pack("=i", -errno.EINVAL) + request + attribute(2, bytes(4)) + attribute(1, b"No.\0")
    with pytest.raises(NetlinkError, match=rf"{ACT}: Invalid argument: No\.$") as caught:
        _statistics(ACT, message(NLMSG_ERROR, payload, 0x200 | (0x100 if capped else 0)))
    assert caught.value.errno == errno.EINVAL


def test_an_error_without_words_has_the_errnos() -> None:
    """A kernel that sends no extended ack leaves errno's own sentence."""
    payload = struct.pack("=i", -errno.ENODEV) + struct.pack("=IHHII", 28, 94, 1, 1, 0)
    with pytest.raises(NetlinkError, match=r"No such device$"):
        _statistics(ACT, message(NLMSG_ERROR, payload))


def test_a_kernel_without_the_request_is_unsupported() -> None:
    """EOPNOTSUPP, a kernel's answer to a message type that it does not know, is Unsupported with a remedy."""
    payload = struct.pack("=i", -errno.EOPNOTSUPP) + struct.pack("=IHHII", 28, 94, 1, 1, 0)
    with pytest.raises(Unsupported, match="a newer one may not"):
        _statistics(ACT, message(NLMSG_ERROR, payload))


@given(st.sampled_from([NLMSG_ERROR, RTM_NEWSTATS]), st.integers(0, 0xFFFF), st.binary(max_size=80))
def test_garbage_never_raises_anything_but_perpkts_own_errors(kind: int, flags: int, payload: bytes) -> None:
    """Arbitrary bytes after the header end in an answer or an error of perpkt's."""
    with contextlib.suppress(PerpktError):
        _statistics(ACT, message(kind, payload, flags))
