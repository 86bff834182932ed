"""report.json: the object that other programs rely on."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from perpkt.analysis import SamePath, Summary
from perpkt.report import json as report_json
from perpkt.result import Estimate
from perpkt.testing import sample_result, sample_row, sample_summary

from .strategies import summaries

RESULT = sample_result(rounds=1, windows=2)
PROMISED = [
    "schema", "unit", "reference", "same_path_difference_ns", "resolution_ns", "quiet_share",
    "paths", "unavailable", "caveats",
]  # fmt: skip
PATH = [
    "name", "cost_ns", "cost_ns_low", "cost_ns_high", "typical_ns", "rate_pps",
    "difference_ns", "difference_ns_low", "difference_ns_high", "step_ns", "step_ns_low", "step_ns_high",
    "sent", "fate", "witness",
]  # fmt: skip


def read(summary: Summary) -> Any:
    """The report as another program would read it, NaN and Infinity refused."""
    return json.loads(report_json.render(RESULT, summary), parse_constant=pytest.fail)


def test_promised_keys() -> None:
    """The promised keys come first and in order, and a path has exactly its own."""
    said = read(sample_summary())
    assert list(said)[: len(PROMISED)] == PROMISED
    assert [list(path) for path in said["paths"]] == [PATH] * 3


def test_values() -> None:
    """The figures are those of the summary."""
    said = read(sample_summary())
    assert (said["schema"], said["unit"], said["reference"]) == (1, "ns/packet", "rx/other-host")
    assert (said["same_path_difference_ns"], said["resolution_ns"], said["quiet_share"]) == (0.1, 0.42, 0.4)
    path = said["paths"][2]
    assert (path["cost_ns"], path["difference_ns"], path["step_ns_low"]) == (361.0, 56.0, 42.9)
    assert path["fate"] == {"OTHERHOST": 122_880}
    assert said["unavailable"][0] == {
        "name": "rx/iptables-raw", "reason": "iptables-legacy is not installed", "remedy": "apt-get install iptables",
    }  # fmt: skip
    assert list(said["caveats"][0]) == ["code", "about", "text"]
    assert said["verified"][0]["drop_reasons"] == {"OTHERHOST": 4096}
    assert (said["frame_bytes"], said["batch"], said["host"]["cpus_online"]) == (60, 64, 2)


def test_first_rung_has_no_step() -> None:
    """The first rung's step and the reference's difference to itself are null."""
    first = read(sample_summary())["paths"][0]
    assert [first[name] for name in PATH if name.startswith(("step", "difference"))] == [None] * 6


@pytest.mark.parametrize("pairs", [(), (SamePath("rx/ingress", Estimate(0.1, -0.2, 0.3)),)])
def test_no_pair_on_the_reference(pairs: tuple[SamePath, ...]) -> None:
    """Without an A/A pair on the reference its difference is null, whatever other pairs there are."""
    assert read(msgspec.structs.replace(sample_summary(), same_path=pairs))["same_path_difference_ns"] is None


def test_not_finite_is_null() -> None:
    """An infinite interval and an unknown resolution are null."""
    row = sample_row("rx/x", Estimate(1.0, -math.inf, math.inf), step=Estimate(math.nan, math.nan, math.nan))
    said = read(msgspec.structs.replace(sample_summary(), rows=(row,), resolution_ns=math.inf, timed_share=math.nan))
    assert (said["paths"][0]["cost_ns_low"], said["paths"][0]["step_ns"]) == (None, None)
    assert (said["resolution_ns"], said["timed_share"]) == (None, None)


@settings(max_examples=50, deadline=None)
@given(summaries())
def test_always_json(summary: Summary) -> None:
    """Whatever the figures and words, the report is JSON with a line for each key."""
    assert len(read(summary)["paths"]) == len(summary.rows)
    assert report_json.render(RESULT, summary).startswith('{\n  "schema": 1,\n')
