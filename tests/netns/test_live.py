"""The live instrument's parts on the real kernel: every path of the catalogue, and packets that go astray."""

from __future__ import annotations

import contextlib
import subprocess
from typing import TYPE_CHECKING

import pytest

from perpkt import probe
from perpkt.errors import MeasurementError, PacketsLost, WrongFate
from perpkt.experiment import make_plan
from perpkt.inject.live_frames import WINDOW_PACKETS, Holder
from perpkt.kernel import netns as namespaces
from perpkt.kernel import owner, proc
from perpkt.measure import account
from perpkt.measure.call import Caller
from perpkt.measure.schedule import Slot
from perpkt.paths import CATALOGUE
from perpkt.paths.render import Line
from perpkt.spec import Path
from perpkt.testbed import Testbed
from tests.conftest import lacking

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAN = make_plan(["rx"])
PACKETS = 16 * WINDOW_PACKETS + 64
BY_NAME = {path.name: path for path in CATALOGUE}


@pytest.fixture
def holder(netns: None) -> Iterator[Holder]:
    """The namespace that keeps injecting programs."""
    with contextlib.closing(Holder("test")) as holder:
        yield holder


@pytest.fixture
def caller(holder: Holder) -> Iterator[Caller]:
    """A Caller with an honest injector."""
    with holder.injector() as injector:
        yield Caller(PLAN, 0, injector)


@contextlib.contextmanager
def bed(path: Path) -> Iterator[Testbed]:
    """A testbed of the path's own."""
    testbed = Testbed("test", path.lasting)
    with testbed.built():
        yield testbed


@pytest.mark.parametrize("name", BY_NAME)
def test_every_packet_of_a_path_meets_its_fate_before_and_while_timing(caller: Caller, name: str) -> None:
    """Verification with all witnesses and a timed call both account for every packet."""
    path = BY_NAME[name]
    missing = probe.availability([path])[1]
    if missing:
        lacking("netns", f"{missing[0].reason}")
    with bed(path) as testbed:
        verification = caller.verified(testbed, path)
        call = caller.timed(testbed, 0, Slot(path, 0, PACKETS))
    assert sum(verification.fate.values()) == verification.sent
    assert call.fate == {path.fates[0].reason: PACKETS}
    assert len(call.windows_ns) == PACKETS // WINDOW_PACKETS
    assert min(call.windows_ns) > 0


def test_the_link_counter_of_a_call_is_what_ip_shows(caller: Caller) -> None:
    """Frames for another host, as perpkt accounts for them, are those that `ip -s -s link` counts as dropped."""
    path = BY_NAME["rx/other-host"]
    with bed(path) as testbed:
        before = _other_host(testbed)
        call = caller.timed(testbed, 0, Slot(path, 0, PACKETS))
        after = _other_host(testbed)
    # the warm-up is in the kernel's count and not in the call's
    assert after - before == call.fate["OTHERHOST"] + 256


def _other_host(testbed: Testbed) -> int:
    name = testbed.namespaces["dut"].name
    words = ["ip", "-n", name, "-s", "-s", "-j", "link", "show", "dev", "v0"]
    shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    _, found, rest = shown.partition('"otherhost":')
    return int(rest.split(",")[0].split("}")[0]) if found else 0


@pytest.mark.parametrize("name", ["rx/other-host", "rx/ingress-u32", "rx/udp-no-socket", "rx/udp-socket-queued"])
def test_a_stolen_frame_makes_the_path_refused(holder: Holder, name: str) -> None:
    """One frame of thousands that is dropped on its way, though counted as sent, ends the measurement."""
    path = BY_NAME[name]
    with bed(path) as testbed, holder.injector(steal=1000) as thief:
        with pytest.raises(PacketsLost, match="1 are in no counter"):
            Caller(PLAN, 0, thief).verified(testbed, path)
        with pytest.raises(PacketsLost):
            Caller(PLAN, 0, thief).timed(testbed, 0, Slot(path, 0, PACKETS))


def test_a_frame_that_nobody_sent_makes_the_path_refused(caller: Caller) -> None:
    """Packets of somebody else in the same counters are no packets of the path."""
    path = BY_NAME["rx/udp-no-socket"]
    with bed(path) as testbed, testbed.attached(path) as attachment:
        before = attachment.snapshot(attachment.counters())
        caller.timed(testbed, 0, Slot(path, 0, PACKETS))
        after = attachment.snapshot(attachment.counters())
        moved = {counter: after[counter] - before[counter] for counter in before}
        with pytest.raises(PacketsLost, match="more than were sent"):
            account.fate(path, PACKETS, PACKETS, moved)


def test_a_dropping_rule_on_the_way_is_a_wrong_fate(caller: Caller) -> None:
    """A filter that drops what the path must deliver is noticed: the fates do not add up."""
    path = BY_NAME["rx/udp-iptables"]
    if probe.availability([path])[1]:
        lacking("netns", "this kernel has no legacy iptables")
    with bed(path) as testbed:
        testbed.run([Line("iptables-legacy", "-A INPUT -p udp -j DROP")])
        with pytest.raises((PacketsLost, WrongFate)):
            caller.verified(testbed, path)


def test_a_path_leaves_nothing_attached(caller: Caller) -> None:
    """After its call an ingress qdisc is gone: it would cost every other path of the machine something."""
    path = BY_NAME["rx/ingress-u32"]
    with bed(path) as testbed:
        caller.timed(testbed, 0, Slot(path, 0, PACKETS))
        words = ["tc", "-n", testbed.namespaces["dut"].name, "qdisc", "show", "dev", "v0"]
        shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert "ingress" not in shown


def test_a_testbed_is_gone_after_its_block_even_when_it_failed() -> None:
    """An error inside leaves no namespace, and is not masked."""
    with pytest.raises(MeasurementError, match="on purpose"), bed(BY_NAME["rx/other-host"]):
        raise MeasurementError("on purpose")
    assert not [name for name, whose, _ in namespaces.named() if whose == owner.own()]


def test_a_legacy_table_stays_in_its_namespace(caller: Caller) -> None:
    """The iptables rungs register no table in the namespace that perpkt was started in."""
    path = BY_NAME["rx/udp-iptables"]
    if probe.availability([path])[1]:
        lacking("netns", "this kernel has no legacy iptables")
    before = proc.read_or("/proc/net/ip_tables_names", "")
    with bed(path) as testbed:
        caller.timed(testbed, 0, Slot(path, 0, PACKETS))
    assert proc.read_or("/proc/net/ip_tables_names", "") == before


def test_the_fixed_cost_of_a_call_is_small_beside_its_packets(caller: Caller) -> None:
    """The holder spares a call its RCU grace periods: most of a call's wall time is in its windows."""
    path = BY_NAME["rx/other-host"]
    with bed(path) as testbed:
        caller.timed(testbed, 0, Slot(path, 0, PACKETS))
        calls = [caller.timed(testbed, 0, Slot(path, 0, 128 * WINDOW_PACKETS + 64)) for _ in range(5)]
    assert max(sum(call.windows_ns) / call.elapsed_ns for call in calls) > 0.5
