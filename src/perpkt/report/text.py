"""The report for a terminal or a file: a table and its notes within 100 columns, whatever the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from perpkt.report import notes
from perpkt.report.figures import (
    change,
    change_alone,
    change_half,
    fates,
    figure,
    level,
    level_half,
    line,
    mpps,
    plain,
    wrap,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from perpkt.analysis import Row, Summary
    from perpkt.result import Result

WIDTH = 100
_GAP = "  "


class Column(NamedTuple):
    """A column of the table: its title and the text of a row's cell."""

    title: str
    cell: Callable[[Row], str]
    to_left: bool = False


PATH = Column("path", lambda row: line(row.name), to_left=True)
COST = Column("ns/packet", lambda row: level(row.cost))
COST_HALF = Column("ns/packet", lambda row: level_half(row.cost))
RATE = Column("Mpps", lambda row: mpps(row.rate_pps))
STEP = Column("step", lambda row: change(row.step))
DIFFERENCE = Column("difference", lambda row: change(row.difference))
DIFFERENCE_HALF = Column("difference", lambda row: change_half(row.difference))
DIFFERENCE_ALONE = Column("difference", lambda row: change_alone(row.difference))
TYPICAL = Column("typical", lambda row: figure(row.typical_ns))
FATE = Column("fate", lambda row: "see below" if notes.is_mixed(row) else fates(row.sent, row.fate), to_left=True)

# The first that fits is taken: the step keeps its interval, and all else gives way to it in turn.
LAYOUTS = (
    (PATH, COST, RATE, STEP, DIFFERENCE, TYPICAL, FATE),
    (PATH, COST_HALF, RATE, STEP, DIFFERENCE, TYPICAL, FATE),
    (PATH, COST_HALF, RATE, STEP, DIFFERENCE_HALF, TYPICAL, FATE),
    (PATH, COST_HALF, RATE, STEP, DIFFERENCE_ALONE, TYPICAL, FATE),
    (PATH, COST_HALF, RATE, STEP, DIFFERENCE_HALF, TYPICAL),
    (PATH, COST_HALF, RATE, STEP, DIFFERENCE_ALONE, TYPICAL),
    (PATH, COST_HALF, RATE, STEP, TYPICAL),
)
# The last resort: each path on a line of its own, its figures under it. Their widest cells leave room.
_UNDER_PATH = (COST_HALF, RATE, STEP, DIFFERENCE_HALF, TYPICAL)


def render(result: Result, summary: Summary) -> str:
    """Host and road, the table, then everything that bears on its figures."""
    table, has_fates = _table(summary.rows)
    return "\n".join([*_head(result, summary), "", *table, "", *_foot(result, summary, has_fates), ""])


def _head(result: Result, summary: Summary) -> list[str]:
    sentences = [
        notes.host(result.heading.host),
        *notes.roads(summary.rows),
        f"{notes.frames(result)}, measured {line(result.heading.measured_at)} by perpkt {line(result.heading.perpkt)}",
    ]
    return _wrapped(sentences)


def _foot(result: Result, summary: Summary, has_fates: bool) -> list[str]:
    told = notes.mixed_fates(summary.rows) if has_fates else notes.all_fates(summary.rows)
    sentences = [
        *notes.legend(summary),
        "±: the wider half of a 95 % interval",
        *told,
        "",
        notes.same_path(summary),
        notes.resolution(summary),
        notes.extent(summary),
        *notes.packets(result, summary),
        *map(notes.missing, summary.unavailable),
        *map(notes.caveat, summary.caveats),
    ]
    return _wrapped(sentences)


def _wrapped(sentences: list[str]) -> list[str]:
    return [one for sentence in sentences for one in wrap(sentence, WIDTH) or [""]]


def _table(rows: tuple[Row, ...]) -> tuple[list[str], bool]:
    """The table's lines, and whether they say where the packets ended."""
    for columns in LAYOUTS:
        lines = _grid(rows, columns)
        if max(map(len, lines)) <= WIDTH:
            return lines, FATE in columns
    return _stacked(rows), False


def _grid(rows: tuple[Row, ...], columns: tuple[Column, ...]) -> list[str]:
    cells = [[column.title, *(plain(column.cell(row)) for row in rows)] for column in columns]
    aligned = [_aligned(one, column.to_left) for one, column in zip(cells, columns, strict=True)]
    return [_GAP.join(across).rstrip() for across in zip(*aligned, strict=True)]


def _aligned(cells: list[str], to_left: bool) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) if to_left else cell.rjust(width) for cell in cells]


def _stacked(rows: tuple[Row, ...]) -> list[str]:
    title, *figures = _grid(rows, _UNDER_PATH)
    lines = [title]
    for row, under in zip(rows, figures, strict=True):
        lines += [*wrap(line(row.name), WIDTH), under]
    return lines
