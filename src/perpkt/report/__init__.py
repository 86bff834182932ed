"""Result and Summary -> str: one module a format, each a pure function."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from perpkt.errors import UsageError
from perpkt.report import csv, json, markdown, netdev, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from perpkt.analysis import Summary
    from perpkt.result import Result

FORMATS: Mapping[str, Callable[[Result, Summary], str]] = MappingProxyType(
    {
        "text": text.render,
        "markdown": markdown.render,
        "csv": csv.render,
        "json": json.render,
        "netdev": netdev.render,
    }
)


def render(result: Result, summary: Summary, format_name: str) -> str:
    """The report in one of FORMATS, ending with a newline; UsageError for another name."""
    if format_name not in FORMATS:
        raise UsageError(f"format {format_name}: unknown; give one of {', '.join(FORMATS)}")
    return FORMATS[format_name](result, summary)
