"""report.notes: the sentences say what they must, and only what is so."""

from __future__ import annotations

import math

import msgspec

from perpkt.report import notes
from perpkt.report.figures import plain
from perpkt.result import Caveat, Estimate, Missing
from perpkt.testing import sample_host, sample_result, sample_row, sample_summary

replace = msgspec.structs.replace
SUMMARY = sample_summary()
COST = Estimate(10.0, 9.0, 11.0)


def test_host() -> None:
    """Kernel, CPU model and virtualisation are in it; what is not known is said to be unknown."""
    sentence = notes.host(sample_host())
    assert all(word in sentence for word in ("6.12.0-1-amd64", "AMD EPYC 7763", "virtualisation kvm"))
    assert notes.host(replace(sample_host(), virtualisation="")).endswith("virtualisation unknown")


def test_one_road_is_said_once() -> None:
    """Paths that all take one road need one sentence and no names."""
    assert notes.roads(SUMMARY.rows) == ["list receive, batch 64, route hint not reached, no GRO on this road"]


def test_other_roads_name_their_paths() -> None:
    """A path on another road is named with it."""
    rows = (*SUMMARY.rows[:2], replace(SUMMARY.rows[2], road="route hint missed"))
    assert notes.roads(rows)[1:] == ["rx/ingress-u32: route hint missed"]


def test_same_path() -> None:
    """The A/A pair has its interval; without a pair that is said."""
    assert plain(notes.same_path(SUMMARY)) == "same path twice: rx/other-host +0.1 [-0.2, 0.3]"
    assert notes.same_path(replace(SUMMARY, same_path=())) == "same path twice: not measured"


def test_packets_apart() -> None:
    """Verified and timed packets are never added together."""
    assert notes.packets(sample_result(), SUMMARY) == [
        "verified before timing: 12,288 packets sent, all accounted for",
        "timed: 368,640 packets sent, all accounted for",
    ]


def test_legend_explains_marks_in_use() -> None:
    """A mark is explained when the table has it, and only then."""
    noise = sample_row("rx/a", COST, step=Estimate(0.1, -1.0, 1.0))
    unknown = sample_row("rx/b", COST, step=Estimate(0.1, -math.inf, math.inf))
    starts = [
        {text.split(":")[0] for text in notes.legend(replace(SUMMARY, rows=rows))}
        for rows in (SUMMARY.rows, (noise,), (unknown,))
    ]
    always = {"step", "typical"}
    assert starts == [always, always | {"="}, always | {"unknown, ?"}]


def test_all_fates_share_lines() -> None:
    """Paths of one fate are named together."""
    other = sample_row("rx/x", COST, fate={"NO_SOCKET": 5})
    assert [plain(one) for one in notes.all_fates((*SUMMARY.rows[:2], other))] == [
        "ended as OTHERHOST 100 %: rx/other-host, rx/ingress",
        "ended as NO_SOCKET 100 %: rx/x",
    ]


def test_missing_and_caveat() -> None:
    """Reason, remedy and what a doubt is about are on one line each."""
    assert (
        notes.missing(Missing("rx/x", "no\nsuch tool", "install it")) == "not measured: rx/x: no such tool; install it"
    )
    assert notes.caveat(Caveat("few-quiet", "busy", "rx/x")) == "caveat: rx/x: busy (few-quiet)"
    assert notes.caveat(Caveat("few-quiet", "busy")) == "caveat: busy (few-quiet)"
