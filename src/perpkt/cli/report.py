"""perpkt report: the report of a result file, or of several runs of one plan."""

from __future__ import annotations

import argparse

from perpkt.cli.options import Verbs, add_format
from perpkt.cli.output import emit


def add_to(verbs: Verbs) -> None:
    """The verb and its options."""
    verb = verbs.add_parser("report", help="print the report of a result file", description=__doc__)
    verb.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="written by `perpkt run -o FILE`; - for standard input. Several are merged: one host, one boot, one plan",
    )
    add_format(verb)
    verb.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Load, summarise, print."""
    from perpkt.analysis import summarise
    from perpkt.report import render
    from perpkt.store import load, merge

    results = [load(file) for file in arguments.files]
    result = results[0] if len(results) == 1 else merge(results)
    emit(render(result, summarise(result), arguments.format))
    return 0
