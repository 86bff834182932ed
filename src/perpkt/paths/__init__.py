"""The catalogue: every path and ladder by name."""

from __future__ import annotations

import difflib

from perpkt.errors import UsageError
from perpkt.paths import rx
from perpkt.spec import Ladder, Path

CATALOGUE: tuple[Path, ...] = rx.PATHS
LADDERS: tuple[Ladder, ...] = rx.LADDERS

_PATHS = {path.name: path for path in CATALOGUE}
_LADDERS = {ladder.name: ladder for ladder in LADDERS}


def find(name: str) -> Ladder | Path:
    """The ladder or path of that name; UsageError with the near ones if there is none."""
    found = _LADDERS.get(name) or _PATHS.get(name)
    if found is None:
        raise UsageError(f"no path or ladder is called {name!r}: {_near(name)}")
    return found


def _near(name: str) -> str:
    known = [*_LADDERS, *_PATHS]
    wanted = name.casefold()
    near = difflib.get_close_matches(wanted, known, 3, 0.6) or [one for one in known if wanted and wanted in one][:3]
    return f"did you mean {' or '.join(near)}?" if near else "`perpkt paths` lists them"


def select(names: list[str]) -> tuple[tuple[Path, ...], str]:
    """The paths of all the ladders and paths named, each once and in order, and the reference among them."""
    found = [find(name) for name in names]
    paths: dict[str, Path] = {}
    for one in found:
        members = [_PATHS[name] for name in one.paths] if isinstance(one, Ladder) else [one]
        paths.update((path.name, path) for path in members if path.name not in paths)
    return tuple(paths.values()), _reference(found, list(paths))


def _reference(found: list[Ladder | Path], names: list[str]) -> str:
    ladders = [one for one in found if isinstance(one, Ladder)]
    if ladders:
        return ladders[0].reference
    return next((name for name in names if name != "rx/floor"), names[0])
