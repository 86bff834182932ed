"""report: the formats by name."""

from __future__ import annotations

import pytest

from perpkt.errors import UsageError
from perpkt.report import FORMATS, render
from perpkt.testing import sample_result, sample_summary


def test_formats() -> None:
    """The formats are these, and each ends its last line."""
    assert list(FORMATS) == ["text", "markdown", "csv", "json", "netdev"]
    for name in FORMATS:
        report = render(sample_result(), sample_summary(), name)
        assert report.endswith("\n")
        assert not report.endswith("\n\n")


def test_unknown_format() -> None:
    """Another name is a UsageError that lists the formats."""
    with pytest.raises(UsageError, match="text, markdown, csv, json, netdev"):
        render(sample_result(), sample_summary(), "pdf")
