"""perpkt doctor: what can be measured here, and for everything missing, why and the remedy."""

from __future__ import annotations

import argparse
import json
import textwrap
from typing import TYPE_CHECKING

from perpkt.cli.options import Verbs, add_json
from perpkt.cli.output import emit

if TYPE_CHECKING:
    from perpkt.diagnosis import Finding

_WIDTH = 100
_NOT_READY = 3


def add_to(verbs: Verbs) -> None:
    """The verb and its options."""
    verb = verbs.add_parser("doctor", help="say what can be measured here, and what is missing", description=__doc__)
    add_json(verb)
    verb.add_argument("--clean", action="store_true", help="take away what killed runs left, and end")
    verb.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Diagnose or clean; 3 where nothing can be measured live."""
    if arguments.clean:
        return _clean(arguments.json)
    from perpkt.diagnosis import diagnose

    findings = diagnose()
    emit(_as_json(findings) if arguments.json else _as_text(findings))
    return 0 if _is_ready(findings) else _NOT_READY


def _is_ready(findings: list[Finding]) -> bool:
    return not any(finding.state == "missing" and finding.needed for finding in findings)


def _clean(as_json: bool) -> int:
    from perpkt.kernel.netns import clean

    names = clean()
    if as_json:
        emit(json.dumps({"reaped": names}, indent=2))
    else:
        emit("\n".join(f"deleted namespace {name}" for name in names) or "nothing was left to clean")
    return 0


def _as_json(findings: list[Finding]) -> str:
    import msgspec

    return json.dumps(
        {"ready": _is_ready(findings), "findings": [msgspec.to_builtins(one) for one in findings]}, indent=2
    )


def _as_text(findings: list[Finding]) -> str:
    marks = {"ok": " ", "doubt": "!", "missing": "-"}
    lines: list[str] = []
    area = ""
    for finding in findings:
        if finding.area != area:
            area = finding.area
            lines += ["", area] if lines else [area]
        lines += _wrapped(f"{marks[finding.state]} {finding.name:22} ", finding.words)
        if finding.remedy:
            lines += _wrapped(" " * 25, f"remedy: {finding.remedy}")
    legend = "- missing   ! a reason to doubt"
    return "\n".join([*lines, "", legend])


def _wrapped(head: str, words: str) -> list[str]:
    return textwrap.wrap(words, _WIDTH, initial_indent=head, subsequent_indent=" " * 25) or [head.rstrip()]
