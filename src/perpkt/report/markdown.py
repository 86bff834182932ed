"""A GitHub table and its notes, to paste into an issue or a commit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perpkt.report import notes
from perpkt.report.figures import change, fates, figure, level, line, mpps, plain

if TYPE_CHECKING:
    from perpkt.analysis import Row, Summary
    from perpkt.result import Result

_TITLES = ("path", "ns/packet", "Mpps", "step", "difference", "typical", "fate")
# An underscore inside a word is only an underscore.
_OBEYED = re.compile(r"[\\`*|<]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_RULE = "|:---|---:|---:|---:|---:|---:|:---|"


def render(result: Result, summary: Summary) -> str:
    """The host, the table, and a list of everything that bears on its figures."""
    head = [_text(one) for one in (notes.host(result.heading.host), notes.frames(result), *notes.roads(summary.rows))]
    table = [_row(_TITLES), _RULE, *(_row(_cells(row)) for row in summary.rows)]
    items = [f"- {_text(one)}" for one in _items(result, summary)]
    return plain("\n".join(["; ".join(head) + ".", "", *table, "", *items, ""]))


def _items(result: Result, summary: Summary) -> list[str]:
    return [
        *notes.legend(summary),
        notes.same_path(summary),
        notes.resolution(summary),
        notes.extent(summary),
        *notes.packets(result, summary),
        *map(notes.missing, summary.unavailable),
        *map(notes.caveat, summary.caveats),
    ]


def _cells(row: Row) -> tuple[str, ...]:
    figures = (level(row.cost), mpps(row.rate_pps), change(row.step), change(row.difference), figure(row.typical_ns))
    return (_text(line(row.name)), *figures, _text(fates(row.sent, row.fate)))


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"


def _text(text: str) -> str:
    """The text with nothing in it that Markdown or HTML would obey."""
    return _OBEYED.sub(r"\\\g<0>", text)
