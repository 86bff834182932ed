"""report.csv: what the csv module reads back."""

from __future__ import annotations

import csv
import io
import math

import msgspec
from hypothesis import given, settings

from perpkt.analysis import Summary
from perpkt.report import csv as report_csv
from perpkt.report import json as report_json
from perpkt.result import Estimate
from perpkt.testing import sample_result, sample_row, sample_summary

from .strategies import summaries

RESULT = sample_result(rounds=1, windows=2)


def read(summary: Summary) -> list[dict[str, str]]:
    """The rows as another program would read them."""
    return list(csv.DictReader(io.StringIO(report_csv.render(RESULT, summary)), strict=True))


def test_names_are_those_of_json() -> None:
    """The header has the keys of a JSON path, in their order."""
    paths = report_json.report(RESULT, sample_summary())["paths"]
    assert isinstance(paths, list)
    assert list(read(sample_summary())[0]) == list(paths[0])


@settings(max_examples=50, deadline=None)
@given(summaries())
def test_round_trip(summary: Summary) -> None:
    """Every finite figure is read back exactly, and all others as nothing."""
    for row, back in zip(summary.rows, read(summary), strict=True):
        assert back["name"] == row.name
        assert int(back["sent"]) == row.sent
        for name, value in (("cost_ns", row.cost.value), ("cost_ns_high", row.cost.high), ("rate_pps", row.rate_pps)):
            assert back[name] == (repr(value) if math.isfinite(value) else "")


def test_fate_and_gaps() -> None:
    """The fate is REASON=COUNT;..., and a difference that is not there is empty."""
    row = sample_row("rx/a,b", Estimate(1.0, 0.5, 1.5), fate={"NO_SOCKET": 5, "OTHERHOST": 3})
    (back,) = read(msgspec.structs.replace(sample_summary(), rows=(row,)))
    assert back["name"] == "rx/a,b"
    assert back["fate"] == "NO_SOCKET=5;OTHERHOST=3"
    assert back["witness"] == "OTHERHOST=link v0 rx_otherhost_dropped"
    assert back["step_ns"] == back["difference_ns_low"] == ""
