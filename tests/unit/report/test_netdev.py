"""report.netdev: plain ASCII of 72 columns that never pretends to be pktgen's."""

from __future__ import annotations

import re

import msgspec
from hypothesis import given, settings

from perpkt.analysis import Summary
from perpkt.report import netdev
from perpkt.result import Estimate
from perpkt.testing import sample_result, sample_row, sample_summary

from .strategies import extreme_summary, summaries

RESULT = sample_result(rounds=1, windows=2)


def said_of(*rows: object) -> str:
    """The report of the sample with other rows."""
    return netdev.render(RESULT, msgspec.structs.replace(sample_summary(), rows=rows))


@settings(max_examples=100, deadline=None)
@given(summaries())
def test_fits_a_mail(summary: Summary) -> None:
    """Whatever the figures and words, lines are ASCII, at most 72 columns, and end in no space."""
    lines = netdev.render(RESULT, summary).split("\n")
    assert [line for line in lines if len(line) > 72 or not line.isascii() or line != line.rstrip()] == []


def test_extremes_fit() -> None:
    """The longest name with the largest figures fits too."""
    assert max(map(len, netdev.render(RESULT, extreme_summary()).split("\n"))) <= 72


def test_lead_has_two_lines() -> None:
    """The lead says in two lines what was measured, and on what."""
    lead = netdev.render(RESULT, sample_summary()).split("\n\n")[0]
    assert lead.count("\n") == 1
    assert "perpkt 0.1.0" in lead
    assert "60-byte frames" in lead


def test_ladder() -> None:
    """A rung is what was added, its rate, then its cost and its step with the interval."""
    ladder = netdev.render(RESULT, sample_summary()).split("\n\n")[1].splitlines()
    assert ladder[:4] == [
        "another host's MAC, dropped in ip_rcv - 3.28 Mpps",
        "  rx/other-host: 305.0 ns/pkt",
        "adding an ingress qdisc to the device - 3.15 Mpps",
        "  rx/ingress: 317.8 ns/pkt, step +12.8 [12.5, 13.1]",
    ]


def test_result_lines() -> None:
    """A result has pktgen's two lines and arithmetic, under perpkt's name."""
    lines = netdev.render(RESULT, sample_summary()).split("\n\n")[2].splitlines()
    assert lines[2:4] == [
        "perpkt: OK: rx/ingress 122880 packets (60byte,0frags)",
        "  3146633pps 1510Mb/sec 317.8ns/pkt errors: 0",
    ]
    assert "Result:" not in "\n".join(lines)


def test_lost_packets_are_not_ok() -> None:
    """Packets in no counter are errors, and the line does not say OK."""
    row = msgspec.structs.replace(sample_row("rx/x", Estimate(10.0, 9.0, 11.0)), sent=122_883)
    said = said_of(row)
    assert "perpkt: LOST: rx/x" in said
    assert "errors: 3" in said


def test_facts_and_method() -> None:
    """Kernel, CPU, active mitigations, preemption, road, A/A pair and doubts are in it."""
    said = re.sub(r"\s+", " ", netdev.render(RESULT, sample_summary()))
    for words in (
        "Linux 6.12.0-1-amd64 x86_64, AMD EPYC 7763",
        "spectre_v2 (Retpolines)",
        "preemption: voluntary",
        "method: live frames, list receive, batch 64, route hint not reached, no GRO on this road",
        "6 rounds, 2 testbeds",
        "same path twice: rx/other-host +0.1 [-0.2, 0.3]",
        "caveat: rx/ingress: another namespace holds ingress_needed_key on (static-key)",
    ):
        assert words in said
    assert "meltdown" not in said


def test_noise_is_marked() -> None:
    """A step whose interval holds 0 is marked and the mark explained."""
    said = said_of(sample_row("rx/x", Estimate(10.0, 9.0, 11.0), step=Estimate(0.1, -0.2, 0.3)))
    assert "step = +0.1 [-0.2, 0.3]" in said
    assert "=: the interval holds 0" in said
