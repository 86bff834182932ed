"""The library's verbs: make a Plan from names and options, and run it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from perpkt.instruments import choose
from perpkt.instruments.live import Observer
from perpkt.paths import find, select
from perpkt.result import Result
from perpkt.spec import Ladder, Plan

SECONDS_A_LADDER = 20.0
SECONDS_A_PATH = 10.0
# With --precision, time is a bound and no longer the plan: room to reach it.
_PRECISION_FACTOR = 5
# With --rounds, the rounds end the run.
_UNBOUNDED_S = 86400.0


def make_plan(
    names: Sequence[str] = ("rx",),
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
    names = list(dict.fromkeys(names))
    paths, reference = select(names)
    ladders = tuple(name for name in names if isinstance(find(name), Ladder))
    return Plan(
        ladders=ladders,
        named=tuple(name for name in names if name not in ladders),
        paths=paths,
        reference=reference,
        time_s=_default_time_s(names, rounds, precision_ns) if time_s is None else time_s,
        seed=secrets.randbelow(1 << 31) if seed is None else seed,
        rounds=rounds,
        precision_ns=precision_ns,
        cpu=cpu,
        frame_bytes=frame_bytes,
        batch=batch,
    )


def _default_time_s(names: Sequence[str], rounds: int | None, precision_ns: float | None) -> float:
    if rounds is not None:
        return _UNBOUNDED_S
    spans = {"rx": 2 * SECONDS_A_LADDER}
    total = sum(spans.get(name, SECONDS_A_PATH if "/" in name else SECONDS_A_LADDER) for name in names)
    return total * (_PRECISION_FACTOR if precision_ns is not None else 1)


def run(
    *names: str,
    time_s: float | None = None,
    rounds: int | None = None,
    precision_ns: float | None = None,
    cpu: int | None = None,
    seed: int | None = None,
    frame_bytes: int = 60,
    batch: int = 64,
    observer: Observer | None = None,
) -> Result:
    """Measure ladders or paths on the running kernel: `run("ingress", time_s=20)`.

    Options as in `make_plan`; `observer` is told of each round, so that an interrupted run's can be
    kept. Needs root. Raises the errors of perpkt.errors; nothing is printed.
    """
    plan = make_plan(
        names or ("rx",),
        time_s=time_s,
        rounds=rounds,
        precision_ns=precision_ns,
        cpu=cpu,
        seed=seed,
        frame_bytes=frame_bytes,
        batch=batch,
    )
    return choose.measure(plan, observer)
