"""perpkt.kernel.rtnetlink against what ip says."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING

import pytest

from perpkt.errors import NetlinkError
from perpkt.kernel import rtnetlink
from perpkt.kernel.rtnetlink import FIELDS, LinkStatistics

if TYPE_CHECKING:
    from tests.netns.conftest import Place

PACKETS = 3000
OTHER_MAC = "02:00:00:00:00:99"

# ip's words for the fields, where they are not the field's name without rx_ or tx_.
NAMES = {"multicast": "rx multicast", "collisions": "tx collisions", "rx_otherhost_dropped": "rx otherhost"}


def opened(place: Place) -> LinkStatistics:
    """Statistics of vtest0, opened inside."""
    with place.entered():
        return LinkStatistics(place.ifindex)


def witness(place: Place) -> dict[str, int]:
    """The fields that ip prints, under the kernel's names; it leaves some out while they are 0."""
    said = place.link("vtest0")["stats64"]
    words = {field: NAMES.get(field, field.replace("_", " ", 1)).split() for field in FIELDS}
    return {field: said[way][word] for field, (way, word) in words.items() if word in said[way]}


def test_every_field_that_ip_prints_is_the_same(place: Place) -> None:
    """Received, sent and refused frames stand in the same fields, with the same figures, as in `ip -s -s link`."""
    with place.entered(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("vtest1", 0))
        for _ in range(5):
            sender.send(bytes.fromhex("020000000001 020000000002 88b5") + bytes(50))
    place.receive(PACKETS, OTHER_MAC)
    with opened(place) as statistics:
        counts = statistics.read()
    expected = witness(place)
    assert len(expected) > 15
    assert counts == {**dict.fromkeys(counts, 0), **expected}
    assert (counts["rx_packets"], counts["rx_bytes"], counts["rx_otherhost_dropped"]) == (5, 5 * 64, PACKETS)


def test_each_read_is_of_now(place: Place) -> None:
    """Two reads differ by what was received between them, though the reader has left the namespace."""
    with opened(place) as statistics:
        before = statistics.read()
        place.receive(PACKETS, OTHER_MAC)
        after = statistics.read()
    assert list(after) == list(FIELDS[: len(after)])
    changed = {field: after[field] - before[field] for field in after if after[field] != before[field]}
    assert changed == {"rx_otherhost_dropped": PACKETS}


def test_a_device_that_is_gone_is_an_error(place: Place) -> None:
    """Reading after the device's end raises NetlinkError with ENODEV, names the ifindex, and can be repeated."""
    with opened(place) as statistics:
        statistics.read()
        place.ip("link", "del", "vtest0")
        for _ in range(2):
            with pytest.raises(NetlinkError, match=f"ifindex {place.ifindex}: No such device") as caught:
                statistics.read()
            assert caught.value.errno == errno.ENODEV


def test_the_kernels_own_words_are_in_the_error(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request with an empty filter is refused with the extended ack's sentence."""
    monkeypatch.setattr(rtnetlink, "_FILTER", 0)
    with opened(place) as statistics, pytest.raises(NetlinkError, match=r"Invalid argument: .*[Ff]ilter"):
        statistics.read()


def test_an_older_reply_is_passed_over(place: Place) -> None:
    """A reply that an interrupted read left in the socket is not taken for the next one's."""
    with opened(place) as statistics:
        statistics._socket.send(rtnetlink._request(place.ifindex, 0))
        place.receive(PACKETS, OTHER_MAC)
        assert statistics.read()["rx_otherhost_dropped"] == PACKETS
