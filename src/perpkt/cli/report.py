"""perpkt report: the report of a result file."""

from __future__ import annotations

import argparse

from perpkt.cli.options import Verbs, add_format
from perpkt.cli.output import emit


def add_to(verbs: Verbs) -> None:
    """The verb and its options."""
    verb = verbs.add_parser("report", help="print the report of a result file", description=__doc__)
    verb.add_argument("file", metavar="FILE", help="written by `perpkt run -o FILE`; - for standard input")
    add_format(verb)
    verb.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Load, summarise, print."""
    from perpkt.analysis import summarise
    from perpkt.report import render
    from perpkt.store import load

    result = load(arguments.file)
    emit(render(result, summarise(result), arguments.format))
    return 0
