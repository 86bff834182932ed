"""How a run goes on: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from typing import TYPE_CHECKING

from perpkt.analysis import widest_ns

if TYPE_CHECKING:
    from rich.progress import Progress

    from perpkt.instruments.live import Observer
    from perpkt.measure.session import Session
    from perpkt.result import Call, Heading
    from perpkt.spec import Plan

_LINE_EVERY_S, _BAR_EVERY_S = 5.0, 1.0


def progress(plan: Plan, quiet: bool, stack: contextlib.ExitStack) -> list[Observer]:
    """What tells a user on standard error; nothing if `quiet`."""
    if quiet or sys.stderr is None:
        return []
    if sys.stderr.isatty():
        return [Bar(plan, stack)]
    return [Lines(plan)]


def _how_far(session: Session, plan: Plan) -> str:
    width = widest_ns(plan, session.readings)
    narrow = f", widest interval {width:.2f} ns" if math.isfinite(width) else ""
    return f"round {session.readings.rounds}{narrow}"


class Lines:
    """Plain lines, some seconds apart."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._start = self._said = time.monotonic()

    def verified(self, path: str, done: int, total: int) -> None:
        """One line when all are."""
        if done == total:
            _say(f"verified {total} paths: every packet met its fate")

    def begun(self, heading: Heading) -> None:
        """The clock starts."""
        self._start = time.monotonic()

    def round_done(self, calls: tuple[Call, ...], session: Session) -> None:
        """A line every few seconds."""
        now = time.monotonic()
        if now - self._said >= _LINE_EVERY_S:
            self._said = now
            _say(f"{now - self._start:.0f} of at most {self._plan.time_s:.0f} s, {_how_far(session, self._plan)}")


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        print(f"perpkt: {text}", file=sys.stderr, flush=True)


class Bar:
    """A bar, and what each round has brought."""

    def __init__(self, plan: Plan, stack: contextlib.ExitStack) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._plan = plan
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._progress: Progress = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
        stack.callback(self._stop)
        self._progress.start()
        self._task = self._progress.add_task("verifying", total=len(plan.paths))
        self._start = self._shown = time.monotonic()

    def _stop(self) -> None:
        with contextlib.suppress(OSError):
            self._progress.stop()

    def _show(self, completed: float, total: float, description: str) -> None:
        # a terminal that has gone is no reason to stop measuring
        with contextlib.suppress(OSError):
            self._progress.update(self._task, completed=completed, total=total, description=description, refresh=True)

    def verified(self, path: str, done: int, total: int) -> None:
        """A step of the bar."""
        self._show(done, total, f"verified {path}")

    def begun(self, heading: Heading) -> None:
        """The bar starts anew, over the time or the rounds."""
        self._start = time.monotonic()

    def round_done(self, calls: tuple[Call, ...], session: Session) -> None:
        """How far, and the widest interval: not after every round, since intervals take time from the run."""
        now = time.monotonic()
        if now - self._shown < _BAR_EVERY_S:
            return
        self._shown = now
        done = session.readings.rounds if self._plan.rounds else now - self._start
        self._show(done, self._plan.rounds or self._plan.time_s, _how_far(session, self._plan))
