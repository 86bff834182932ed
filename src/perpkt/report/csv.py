"""Comma-separated values: a row for each path, named as in the JSON report."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from perpkt.report.figures import line, record

if TYPE_CHECKING:
    from perpkt.analysis import Row, Summary
    from perpkt.result import Result

COLUMNS = (
    "name", "cost_ns", "cost_ns_low", "cost_ns_high", "typical_ns", "rate_pps",
    "difference_ns", "difference_ns_low", "difference_ns_high", "step_ns", "step_ns_low", "step_ns_high",
    "sent", "fate", "witness",
)  # fmt: skip


def render(_result: Result, summary: Summary) -> str:
    """A header and a row for each path; empty where there is no figure, REASON=COUNT;... for the fate."""
    lines = io.StringIO()
    writer = csv.DictWriter(lines, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(_flat, summary.rows))
    return lines.getvalue()


def _flat(row: Row) -> dict[str, object]:
    return record(row) | {"name": line(row.name), "fate": _pairs(row.fate), "witness": _pairs(row.witness)}


def _pairs(named: dict[str, int] | dict[str, str]) -> str:
    return ";".join(f"{line(name)}={line(str(value))}" for name, value in named.items())
