"""paths.rx: what each receive path says of itself is true of its data."""

from __future__ import annotations

import ipaddress
import re

import msgspec
import pytest

from perpkt.paths import CATALOGUE, LADDERS
from perpkt.spec import U32, Path, Qdisc, Stage, Sysctl

EACH = pytest.mark.parametrize("path", CATALOGUE, ids=lambda path: path.name)
BENCHMARKING = ipaddress.ip_network("198.18.0.0/15")
ANY = "0.0.0.0"  # noqa: S104 - a socket of a path's own namespace


@EACH
def test_round_trip(path: Path) -> None:
    """A path goes through JSON unchanged, stages of each kind included."""
    assert msgspec.json.decode(msgspec.json.encode(path), type=Path) == path


@EACH
def test_addresses_are_for_benchmarking(path: Path) -> None:
    """Every address of a path, wherever it stands, is in 198.18.0.0/15 (RFC 2544)."""
    found = set(re.findall(rb"\d+\.\d+\.\d+\.\d+", msgspec.json.encode(path))) - {ANY.encode()}
    assert found
    assert {address for address in found if ipaddress.ip_address(address.decode()) not in BENCHMARKING} == set()


@EACH
def test_destinations(path: Path) -> None:
    """The two destinations differ, so that no route hint is hit, and neither is the source's address."""
    assert len({*path.flow.destinations, path.flow.source}) == 3


@EACH
def test_local_destinations_are_the_devices(path: Path) -> None:
    """A path whose frames are for the device has both destinations as its addresses."""
    held = {stage.address.partition("/")[0] for stage in path.stages if hasattr(stage, "address")}
    assert path.flow.to == "other-host" or set(path.flow.destinations) <= held


@EACH
def test_device_is_built(path: Path) -> None:
    """The device that frames enter, and each that a stage names, is an end of a veth pair of the path."""
    ends = {path.veth.device, path.veth.peer}
    assert path.device == path.veth.device
    assert {getattr(stage, "device", path.device) for stage in path.stages} <= ends


@EACH
def test_lasting_comes_first(path: Path) -> None:
    """What lasts as long as its namespace stands before what is attached for a call: it is built before it."""
    assert path.stages == (*path.lasting, *path.passing)


@EACH
def test_has_a_witness(path: Path) -> None:
    """Every packet that enters the stack is counted by someone other than the injecting program."""
    sources = {fate.counter.source for fate in path.fates}
    assert path.fates
    assert sources == {"program"} if path.verdict == "drop" else "program" not in sources


@EACH
def test_fates_are_counted_apart(path: Path) -> None:
    """No two fates of a path share a reason or a counter."""
    assert len({fate.reason for fate in path.fates}) == len({fate.counter for fate in path.fates}) == len(path.fates)


@EACH
def test_silent_counters_are_no_fates(path: Path) -> None:
    """What must not move is not what must."""
    assert not set(path.silent) & {*path.crossed, *(fate.counter for fate in path.fates)}


@EACH
def test_replies_are_off_or_the_subject(path: Path) -> None:
    """A path to the host itself sends no ICMP error, and has a counter that proves it; rx/udp-icmp is the exception."""
    off = any(isinstance(stage, Sysctl) and stage.name == "net.ipv4.icmp_msgs_per_sec" for stage in path.stages)
    proved = "Icmp OutMsgs" in {counter.name for counter in path.silent}
    assert off == proved == (path.flow.to == "device" and path.name != "rx/udp-icmp")


@EACH
def test_u32_has_its_qdisc(path: Path) -> None:
    """A u32 filter comes after an ingress qdisc on its device: it goes with it."""
    for at, stage in enumerate(path.stages):
        if isinstance(stage, U32):
            assert Qdisc(stage.device) in path.stages[:at]


@EACH
def test_summary(path: Path) -> None:
    """A summary is one short line that does not end like a sentence."""
    assert 0 < len(path.summary) <= 90
    assert "\n" not in path.summary
    assert not path.summary.endswith(".")


@pytest.mark.parametrize("ladder", LADDERS[1:], ids=lambda ladder: ladder.name)
def test_a_ladders_paths_are_all_unlike(ladder: object) -> None:
    """No two rungs are the same thing under two names."""
    rungs = [path for path in CATALOGUE if path.name in getattr(ladder, "paths", ())]
    made: list[tuple[tuple[Stage, ...], object, str]] = [(path.stages, path.flow, path.verdict) for path in rungs]
    assert all(one not in made[:at] for at, one in enumerate(made))
