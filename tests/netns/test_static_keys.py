"""What others hold on is found, wherever it is."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from perpkt import probe, static_keys
from perpkt.kernel import bpf
from perpkt.paths import find
from perpkt.spec import Path
from perpkt.wire.insn import alu, assemble, leave
from perpkt.wire.programs import go_on
from tests.conftest import lacking
from tests.netns.conftest import Place

XDP_FLAGS_SKB_MODE = 1 << 1


def seen(place: Place) -> list[str]:
    """What is held in the place's namespace."""
    where = f" in namespace {place.name}"
    return [one.by.removesuffix(where) for one in static_keys.held_by_others() if one.by.endswith(where)]


def test_nothing_is_seen_where_nothing_is_held(place: Place) -> None:
    """A namespace with a veth pair holds no key."""
    assert seen(place) == []


@pytest.mark.parametrize("kind", ["ingress", "clsact"])
def test_a_qdisc_is_seen(place: Place, kind: str) -> None:
    """An ingress or clsact qdisc in a namespace that no process is in is named with its device."""
    subprocess.run(["tc", "-n", place.name, "qdisc", "add", "dev", "vtest0", kind], check=True)
    assert seen(place) == [f"qdisc {kind} on vtest0"]


def test_a_base_chain_is_seen(place: Place) -> None:
    """An nftables base chain is named by its hook."""
    if shutil.which("nft") is None:
        lacking("netns", "nft is not installed")
    rules = "add table ip t; add chain ip t c { type filter hook input priority 0; }"
    subprocess.run(["ip", "netns", "exec", place.name, "nft", rules], check=True)
    assert seen(place) == ["nftables hook input"]


def test_generic_xdp_is_seen(place: Place) -> None:
    """A generic XDP program is named with its device."""
    program = bpf.load_program(bpf.XDP, assemble([alu("mov", 0, bpf.XDP_PASS), leave()]), "pass")
    with place.entered():
        link = bpf.create_link(program, place.ifindex, bpf.XDP_ATTACH, XDP_FLAGS_SKB_MODE)
    try:
        assert seen(place) == ["generic XDP on vtest0"]
    finally:
        os.close(link)
        os.close(program)


def test_a_tcx_program_is_seen(place: Place) -> None:
    """A tcx link is counted wherever it is: links belong to the machine."""
    program = bpf.load_program(bpf.SCHED_CLS, go_on(), "go_on", bpf.TCX_INGRESS)
    with place.entered():
        link = bpf.create_link(program, place.ifindex, bpf.TCX_INGRESS)
    try:
        assert any("tcx or netkit program" in one.by for one in static_keys.held_by_others())
    finally:
        os.close(link)
        os.close(program)


def test_the_path_that_shows_a_key_is_left_out_where_it_is_held(place: Place) -> None:
    """With an ingress qdisc elsewhere there is no "key alone" to measure: the reason says who holds it."""
    path = find("rx/ingress-other-dev")
    assert isinstance(path, Path)
    subprocess.run(["tc", "-n", place.name, "qdisc", "add", "dev", "vtest0", "ingress"], check=True)
    available, missing = probe.availability([path])
    assert available == ()
    assert f"qdisc ingress on vtest0 in namespace {place.name}" in missing[0].reason
