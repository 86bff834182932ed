"""report.markdown: a GitHub table that no word can break."""

from __future__ import annotations

import re

import msgspec
from hypothesis import given, settings

from perpkt.analysis import Summary
from perpkt.report import markdown
from perpkt.result import Caveat
from perpkt.testing import sample_result, sample_summary

from .strategies import summaries

RESULT = sample_result(rounds=1, windows=2)


def rows_of(said: str) -> list[list[str]]:
    """The table's cells, rule left out."""
    lines = [line for line in said.splitlines() if line.startswith("|") and not line.startswith("|:")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_table() -> None:
    """Each path has a row with both intervals."""
    titles, *rows = rows_of(markdown.render(RESULT, sample_summary()))
    assert titles == ["path", "ns/packet", "Mpps", "step", "difference", "typical", "fate"]
    assert rows[2] == [
        "rx/ingress-u32", "361.0 [360.5, 361.4]", "2.77",
        "+43.2 [42.9, 43.6]", "+56.0 [55.6, 56.5]", "487.4", "OTHERHOST 100 %",
    ]  # fmt: skip


def test_notes_are_a_list() -> None:
    """A/A pair, gaps and doubts are items of a list."""
    items = [line for line in markdown.render(RESULT, sample_summary()).splitlines() if line.startswith("- ")]
    assert "- same path twice: rx/other-host +0.1 [-0.2, 0.3]" in items
    assert "- not measured: rx/iptables-raw: iptables-legacy is not installed; apt-get install iptables" in items
    assert items[-1].startswith("- caveat: rx/ingress")


@settings(max_examples=50, deadline=None)
@given(summaries())
def test_always_seven_cells(summary: Summary) -> None:
    """Whatever the figures and words, each row has seven cells and there is a row for each path."""
    rows = rows_of(markdown.render(RESULT, summary))
    assert [len(row) for row in rows] == [7] * (1 + len(summary.rows))


def test_markup_is_escaped() -> None:
    """Words from elsewhere can't become markup; an underscore inside a word stays as it is."""
    doubt = Caveat("code", "a|b <b> *c* `d` __e sch_ingress")
    said = markdown.render(RESULT, msgspec.structs.replace(sample_summary(), caveats=(doubt,)))
    assert r"a\|b \<b> \*c\* \`d\` \_\_e sch_ingress" in said
