"""report.text: everything is said, and nothing is wider than 100 columns."""

from __future__ import annotations

import math
import re

import msgspec
import pytest
from hypothesis import given, settings

from perpkt.analysis import Summary
from perpkt.report import text
from perpkt.result import Estimate
from perpkt.testing import sample_result, sample_row, sample_summary

from .strategies import LONGEST_NAME, extreme_summary, summaries

RESULT = sample_result(rounds=1, windows=2)
COST = Estimate(305.0, 304.8, 305.3)


def table_of(summary: Summary) -> list[str]:
    """The lines of the table: the second block of the report."""
    return text.render(RESULT, summary).split("\n\n")[1].splitlines()


def of_rows(*rows: object) -> Summary:
    """The sample's summary with other rows."""
    return msgspec.structs.replace(sample_summary(), rows=rows)


def test_table() -> None:
    """Each path has a line with cost, rate, step, difference, typical cost and fate."""
    words = table_of(sample_summary())[2].split()
    assert " ".join(words) == "rx/ingress 317.8 ±0.4 3.15 +12.8 [12.5, 13.1] +12.8 [12.5, 13.1] 429.0 OTHERHOST 100 %"


def test_columns_line_up() -> None:
    """A column's cells end where its title ends."""
    title, *rows = table_of(sample_summary())
    end = title.index("Mpps") + len("Mpps")
    assert [row[:end].split()[-1] for row in rows] == ["3.28", "3.15", "2.77"]


def test_head_and_notes() -> None:
    """Host, road, frame size, A/A pair, resolution, quiet share, packets, gaps and doubts are all there."""
    said = " ".join(text.render(RESULT, sample_summary()).split())
    for words in (
        "Linux 6.12.0-1-amd64 x86_64, AMD EPYC 7763 64-Core Processor, 2 CPUs, virtualisation kvm",
        "list receive, batch 64, route hint not reached, no GRO on this road",
        "60-byte frames (FCS not counted)",
        "same path twice: rx/other-host +0.1 [-0.2, 0.3]",
        "smallest difference that this run could have seen: 0.4 ns",
        "6 rounds, 2 testbeds, 19.8 s, 63 % of it inside timed windows, at least 40 % of these quiet",
        "verified before timing: 12,288 packets sent, all accounted for",
        "timed: 368,640 packets sent, all accounted for",
        "not measured: rx/iptables-raw: iptables-legacy is not installed; apt-get install iptables",
        "caveat: rx/ingress: another namespace holds ingress_needed_key on (static-key)",
    ):
        assert words in said


@settings(max_examples=200, deadline=None)
@given(summaries())
def test_fits(summary: Summary) -> None:
    """No figure, name, fate or caveat makes a line wider than 100 columns, and none ends in a space."""
    lines = text.render(RESULT, summary).split("\n")
    assert [line for line in lines if len(line) > 100 or line != line.rstrip()] == []


def test_extremes_keep_the_step() -> None:
    """The longest name with the largest figures still shows its cost and its step's interval."""
    table = "\n".join(table_of(extreme_summary()))
    assert LONGEST_NAME in table
    assert "99999.9 ±99999.8" in table
    assert "= +99999.9 [-99999.9, 99999.9]" in table


def test_very_long_name() -> None:
    """A name that leaves no room stands on a line of its own, whole."""
    name = "rx/" + "x" * 80
    lines = table_of(of_rows(sample_row(name, COST, step=Estimate(1.0, 0.5, 1.5))))
    assert lines[1] == name
    assert "+1.0 [0.5, 1.5]" in lines[2]


@pytest.mark.parametrize("name", ["rx/x", "rx/" + "x" * 40, "rx/" + "x" * 80])
def test_fate_is_always_told(name: str) -> None:
    """Where the table has no room for fates they are told below it."""
    step = Estimate(1234.5, 1000.5, 1500.5)
    said = text.render(RESULT, of_rows(sample_row(name, COST, step=step, difference=step)))
    assert "OTHERHOST 100 %" in said


def test_mixed_fates_are_counted() -> None:
    """Packets that met two reasons are counted below the table."""
    said = text.render(RESULT, of_rows(sample_row("rx/x", COST, fate={"NO_SOCKET": 5, "OTHERHOST": 3})))
    assert "see below" in said
    assert "rx/x ended as NO_SOCKET 5, OTHERHOST 3" in said


def test_noise_is_not_ranked() -> None:
    """A step whose interval holds 0 is marked, and the mark explained."""
    said = text.render(RESULT, of_rows(sample_row("rx/x", COST, step=Estimate(0.1, -0.2, 0.3))))
    assert "= +0.1 [-0.2, 0.3]" in said
    assert "\n=: the interval holds 0" in said


def test_unknown_interval() -> None:
    """Too few calls read as unknown, never as inf or nan."""
    unknown = Estimate(305.0, -math.inf, math.inf)
    summary = of_rows(sample_row("rx/x", unknown, step=unknown))
    said = text.render(RESULT, msgspec.structs.replace(summary, resolution_ns=math.inf, timed_share=math.nan))
    assert "305.0 [unknown]" in said
    assert not re.search(r"\b(inf|nan)\b", said)


def test_no_control_characters() -> None:
    """Escape sequences in a foreign file's words do not reach the terminal."""
    said = text.render(RESULT, of_rows(sample_row("rx/\x1b[31mx", COST)))
    assert "\x1b" not in said
