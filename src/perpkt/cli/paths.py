"""perpkt paths: the catalogue and the ladders, and whether each can be measured here."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from perpkt.cli.options import Verbs, add_json
from perpkt.cli.output import emit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perpkt.result import Missing
    from perpkt.spec import Ladder, Path


def add_to(verbs: Verbs) -> None:
    """The verb and its options."""
    verb = verbs.add_parser("paths", help="list what can be measured", description=__doc__)
    verb.add_argument("name", metavar="NAME", nargs="?", help="one ladder or path, in detail")
    add_json(verb)
    verb.add_argument("--commands", action="store_true", help="print the shell script that builds NAME")
    verb.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """List, show one, or print its commands."""
    from perpkt.errors import UsageError
    from perpkt.paths import CATALOGUE, LADDERS, find, select
    from perpkt.paths.render import script
    from perpkt.spec import Ladder

    if arguments.commands:
        if not arguments.name:
            raise UsageError("--commands: name a path or a ladder (`perpkt paths` lists them)")
        emit("\n".join(script(path) for path in select([arguments.name])[0]))
        return 0
    named = arguments.name is not None
    paths = select([arguments.name])[0] if named else CATALOGUE
    found = [find(arguments.name)] if named else LADDERS
    ladders = [one for one in found if isinstance(one, Ladder)]
    missing = _missing(paths)
    if arguments.json:
        emit(json.dumps(as_json(ladders, paths, missing), indent=2))
    else:
        emit(as_text(ladders, paths, missing, detail=not ladders))
    return 0


def _missing(paths: Sequence[Path]) -> Mapping[str, Missing]:
    """Each path that can't be measured here."""
    from perpkt import probe
    from perpkt.errors import HostError
    from perpkt.result import Missing

    try:
        probe.check_live()
    except HostError as error:
        return {path.name: Missing(path.name, error.reason, error.remedy) for path in paths}
    return {one.name: one for one in probe.availability(paths)[1]}


def as_json(ladders: Sequence[Ladder], paths: Sequence[Path], missing: Mapping[str, Missing]) -> dict[str, Any]:
    """What --json prints: {"ladders": [...], "paths": [...]}."""
    import msgspec

    return {
        "ladders": [msgspec.to_builtins(ladder) for ladder in ladders],
        "paths": [
            {
                "name": path.name,
                "summary": path.summary,
                "measurable": path.name not in missing,
                "reason": missing[path.name].reason if path.name in missing else "",
                "remedy": missing[path.name].remedy if path.name in missing else "",
                "fate": {fate.reason: str(fate.counter) for fate in path.fates},
                "crossed": [str(counter) for counter in path.crossed],
                "silent": [str(counter) for counter in path.silent],
                "stages": [msgspec.to_builtins(stage) for stage in path.stages],
            }
            for path in paths
        ],
    }


def as_text(ladders: Sequence[Ladder], paths: Sequence[Path], missing: Mapping[str, Missing], detail: bool) -> str:
    """Ladders, then paths, one a line; `detail` adds what each path is made of."""
    width = max(len(path.name) for path in paths)
    lines = [*_ladder_lines(ladders), *(["paths:"] if ladders else [])]
    for path in paths:
        mark = "-" if path.name in missing else " "
        lines.append(f"{mark} {path.name:{width}}  {path.summary}")
        if detail:
            lines += [f"    {line}" for line in _details(path)]
    return "\n".join([*lines, *_missing_lines(missing)])


def _ladder_lines(ladders: Sequence[Ladder]) -> list[str]:
    lines = [f"  {ladder.name:8}  {ladder.summary}; reference {ladder.reference}" for ladder in ladders]
    return ["ladders:", *lines] if lines else []


def _details(path: Path) -> list[str]:
    from perpkt.paths.render import typed

    fates = [f"fate {fate.reason}, counted by {fate.counter}" for fate in path.fates]
    crossed = [f"on the way: {counter} counts every packet" for counter in path.crossed]
    silent = [f"must not move: {counter}" for counter in path.silent]
    return [*(line for stage in path.stages for line in typed(stage)), *fates, *crossed, *silent]


def _missing_lines(missing: Mapping[str, Missing]) -> list[str]:
    """The reasons, each once, with the paths that it concerns."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in missing.values():
        reasons.setdefault((one.reason, one.remedy), []).append(one.name)
    return [
        line
        for (reason, remedy), names in reasons.items()
        for line in (f"- can't be measured here ({', '.join(names)}):", f"    {reason}", f"    {remedy}")
    ]
