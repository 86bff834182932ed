"""report.figures: how a number, an interval and a fate read."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perpkt.report import figures
from perpkt.result import Estimate
from perpkt.testing import sample_row

CLEAR = Estimate(12.8, 12.5, 13.2)
NOISE = Estimate(-0.04, -0.2, 0.3)
OPEN = Estimate(12.8, -math.inf, math.inf)


@pytest.mark.parametrize(
    ("value", "plain", "signed"),
    [
        (12.84, "12.8", "+12.8"),
        (-0.04, "0.0", "+0.0"),
        (99999.9, "99999.9", "+99999.9"),
        (1e9, "1.0e+09", "+1.0e+09"),
        (math.inf, "unknown", "unknown"),
        (math.nan, "unknown", "unknown"),
    ],
)
def test_figure(value: float, plain: str, signed: str) -> None:
    """A figure has one decimal, no negative zero, and is unknown where it isn't finite."""
    assert figures.figure(value) == plain
    assert figures.figure(value, signed=True) == signed


@given(st.floats())
def test_figure_is_short(value: float) -> None:
    """No figure is longer than 9 characters, so that columns can be bounded."""
    assert len(figures.figure(value, signed=True)) <= 9


@pytest.mark.parametrize(
    ("estimate", "whole", "half", "alone"),
    [
        (CLEAR, "+12.8 [12.5, 13.2]", "+12.8 ±0.4", "+12.8"),
        (NOISE, "= +0.0 [-0.2, 0.3]", "= +0.0 ±0.3", "= +0.0"),
        (OPEN, "+12.8 [unknown]", "+12.8 ±?", "+12.8"),
        (None, "", "", ""),
    ],
)
def test_changes(estimate: Estimate | None, whole: str, half: str, alone: str) -> None:
    """A difference is marked when, and only when, its interval is known and holds 0."""
    assert figures.plain(figures.change(estimate)) == whole
    assert figures.plain(figures.change_half(estimate)) == half
    assert figures.plain(figures.change_alone(estimate)) == alone


def test_levels() -> None:
    """A cost has no sign and no mark; its half width is the wider half."""
    assert figures.plain(figures.level(CLEAR)) == "12.8 [12.5, 13.2]"
    assert figures.plain(figures.level_half(CLEAR)) == "12.8 ±0.4"


@pytest.mark.parametrize(
    ("rate_pps", "text"), [(3.2787e6, "3.28"), (1e10, "10000.0"), (999.999e6, "1000.0"), (1e4, "0.01")]
)
def test_mpps(rate_pps: float, text: str) -> None:
    """A rate has two decimals below 1000 Mpps."""
    assert figures.mpps(rate_pps) == text


@pytest.mark.parametrize(
    ("sent", "fate", "text"),
    [
        (10, {"OTHERHOST": 10}, "OTHERHOST 100 %"),
        (10, {"OTHERHOST": 10, "NO_SOCKET": 0}, "OTHERHOST 100 %"),
        (1234, {"OTHERHOST": 1230, "NO_SOCKET": 4}, "OTHERHOST 1,230, NO_SOCKET 4"),
        (10, {"OTHERHOST": 9}, "OTHERHOST 9, not accounted for 1"),
        (0, {}, "nothing sent"),
    ],
)
def test_fates(sent: int, fate: dict[str, int], text: str) -> None:
    """100 % is said only when every packet that was sent met that one reason."""
    assert figures.plain(figures.fates(sent, fate)) == text


def test_accounted() -> None:
    """A missing packet is not hidden in a total."""
    assert figures.accounted(1000, {"A": 600, "B": 400}) == "1,000 packets sent, all accounted for"
    assert figures.accounted(1000, {"A": 999}) == "1,000 packets sent, 999 accounted for"


def test_total() -> None:
    """Counts are added up reason by reason."""
    assert figures.total([{"A": 1, "B": 2}, {"B": 3}, {}]) == {"A": 1, "B": 5}


@given(st.text())
def test_line(text: str) -> None:
    """Foreign text comes out as one printable line."""
    assert figures.line(text).isprintable()


@given(st.text(), st.integers(20, 100))
def test_wrap(text: str, width: int) -> None:
    """No wrapped line is wider than asked, and no tie is left in it."""
    lines = figures.wrap(figures.line(text), width)
    assert all(len(line) <= width and figures.TIE not in line for line in lines)


def test_wrap_keeps_intervals() -> None:
    """A figure is never parted from its interval."""
    lines = figures.wrap(f"the difference is {figures.change(CLEAR)}", 30)
    assert lines == ["the difference is", "  +12.8 [12.5, 13.2]"]


def test_record() -> None:
    """What isn't finite, or isn't there, is None."""
    record = figures.record(sample_row("rx/x", OPEN, step=CLEAR))
    assert (record["cost_ns"], record["cost_ns_low"], record["cost_ns_high"]) == (12.8, None, None)
    assert (record["step_ns"], record["step_ns_low"], record["step_ns_high"]) == (12.8, 12.5, 13.2)
    assert record["difference_ns"] is record["difference_ns_low"] is record["difference_ns_high"] is None
