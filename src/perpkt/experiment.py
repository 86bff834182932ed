"""The library's verbs: make a Plan from names and options, and run it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TypedDict, Unpack

import msgspec

from perpkt.errors import UsageError
from perpkt.instruments import choose
from perpkt.instruments.live import Observer
from perpkt.paths import LADDERS, find, select
from perpkt.result import Result
from perpkt.spec import Ladder, Path, Plan

SECONDS_A_LADDER = 20.0
SECONDS_A_PATH = 10.0
# With --precision, time is a bound and no longer the plan: room to reach it.
_PRECISION_FACTOR = 5
# With --rounds, the rounds end the run.
_UNBOUNDED_S = 86400.0


def make_plan(
    names: Sequence[str] | str = ("rx",),
    *,
    time_s: float | None = None,
    rounds: int | None = None,
    precision_ns: float | None = None,
    cpu: int | None = None,
    seed: int | None = None,
    frame_bytes: int = 60,
    batch: int = 64,
) -> Plan:
    """The plan for ladders and paths by name; UsageError for a name or figure that can't be meant.

    `time_s`: wall time of the rounds, by default about 20 s a ladder. `precision_ns`: stop at a fixed
    look when every difference's 95 % interval is that narrow. `frame_bytes`: Ethernet header
    included, FCS not. `seed`: of the order of calls; a random one is drawn, and kept in the result.
    """
    names = [names] if isinstance(names, str) else list(names)
    if not all(isinstance(name, str) for name in names):
        raise UsageError(f"names of paths and ladders are text, not {names!r:.60}")
    names = list(dict.fromkeys(names))
    if not names:
        raise UsageError("no path or ladder is named: `perpkt paths` lists them")
    paths, reference = select(names)
    ladders = tuple(name for name in names if isinstance(find(name), Ladder))
    try:
        plan = Plan(
            ladders=ladders,
            named=tuple(name for name in names if name not in ladders),
            paths=paths,
            reference=reference,
            time_s=_default_time_s(paths, rounds, precision_ns) if time_s is None else time_s,
            seed=secrets.randbelow(1 << 31) if seed is None else seed,
            rounds=rounds,
            precision_ns=precision_ns,
            cpu=cpu,
            frame_bytes=frame_bytes,
            batch=batch,
        )
        # msgspec checks types when it decodes, and a caller may have given others
        return msgspec.convert(msgspec.to_builtins(plan), Plan)
    except (msgspec.ValidationError, TypeError) as error:
        raise UsageError(f"an option is of another type than it must be: {error}") from None


def _default_time_s(paths: Sequence[Path], rounds: int | None, precision_ns: float | None) -> float:
    """20 s for each ladder among the paths, 10 s for each other path."""
    if rounds is not None:
        return _UNBOUNDED_S
    left = {path.name for path in paths}
    total = 0.0
    for ladder in sorted(LADDERS, key=lambda ladder: len(ladder.paths)):
        if left.issuperset(ladder.paths):
            left -= set(ladder.paths)
            total += SECONDS_A_LADDER
    total += SECONDS_A_PATH * len(left)
    return total * (_PRECISION_FACTOR if precision_ns is not None else 1)


class Options(TypedDict, total=False):
    """The keyword arguments of `make_plan`."""

    time_s: float | None
    rounds: int | None
    precision_ns: float | None
    cpu: int | None
    seed: int | None
    frame_bytes: int
    batch: int


def run(*names: str, observer: Observer | None = None, **options: Unpack[Options]) -> Result:
    """Measure ladders or paths on the running kernel: `run("ingress", time_s=20)`; by default `rx`.

    Options as in `make_plan`; `observer` is told of each round, so that an interrupted run's can be
    kept. Needs root. Raises the errors of perpkt.errors; nothing is printed.
    """
    return choose.measure(make_plan(names or ("rx",), **options), observer)
