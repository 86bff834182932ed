"""The report for other programs: one JSON object. Its schema is the report's own, not that of the result file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from perpkt.report.figures import difference_record, finite, record

if TYPE_CHECKING:
    from perpkt.analysis import Summary
    from perpkt.result import Result, Verification

# History of the schema:
#   1  the first.
SCHEMA = 1


def render(result: Result, summary: Summary) -> str:
    """The object of `report`, indented by 2."""
    return json.dumps(report(result, summary), indent=2, allow_nan=False) + "\n"


def report(result: Result, summary: Summary) -> dict[str, object]:
    """All that is said of a result, in ns/packet; None for a figure that there is not."""
    return {
        "schema": SCHEMA,
        "unit": "ns/packet",
        "reference": summary.reference,
        "same_path_difference_ns": _same_path_on_reference(summary),
        "resolution_ns": finite(summary.resolution_ns),
        "quiet_share": finite(summary.quiet_share),
        "paths": [record(row) for row in summary.rows],
        "unavailable": msgspec.to_builtins(summary.unavailable),
        "caveats": [{"code": one.code, "about": one.about, "text": one.text} for one in summary.caveats],
        **_more(result, summary),
    }


def _more(result: Result, summary: Summary) -> dict[str, object]:
    plan = result.heading.plan
    return {
        "same_path": [difference_record(pair.name, pair.difference) for pair in summary.same_path],
        "verified": [_verified(one) for one in result.heading.verifications],
        "rounds": summary.rounds,
        "testbeds": summary.testbeds,
        "duration_s": finite(summary.duration_s),
        "timed_share": finite(summary.timed_share),
        "frame_bytes": plan.frame_bytes,
        "batch": plan.batch,
        "host": msgspec.to_builtins(result.heading.host),
    }


def _same_path_on_reference(summary: Summary) -> float | None:
    values = [pair.difference.value for pair in summary.same_path if pair.name == summary.reference]
    return finite(values[0]) if values else None


def _verified(one: Verification) -> dict[str, object]:
    return {"name": one.path, "sent": one.sent, "fate": one.fate, "drop_reasons": one.drop_reasons}
