"""perpkt run: measure ladders or paths, report, and keep the result."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING

from perpkt.cli.options import Verbs, add_format
from perpkt.cli.output import check_writable, complain, complain_of, emit
from perpkt.errors import INTERRUPTED, OutputError, PerpktError, UsageError
from perpkt.kernel import signals

if TYPE_CHECKING:
    from perpkt.instruments.live import Observer
    from perpkt.measure.session import Session
    from perpkt.result import Call, Heading, Result
    from perpkt.result_file import ResultFile
    from perpkt.spec import Plan


def add_to(verbs: Verbs) -> None:
    """The verb and its options."""
    verb = verbs.add_parser(
        "run",
        help="measure ladders or paths on the running kernel",
        description="Measure what each packet costs on ladders or paths of the running kernel. Needs root.",
    )
    verb.add_argument(
        "names", metavar="NAME", nargs="*", help="a ladder or a path (default: rx); `perpkt paths` lists them"
    )
    verb.add_argument("--time", type=float, metavar="S", help="wall time of the rounds (default: about 20 s a ladder)")
    verb.add_argument("--rounds", type=int, metavar="N", help="end after N rounds; each has testbeds of its own")
    verb.add_argument(
        "--precision", type=float, metavar="NS", help="end when every difference's 95 %% interval is at most NS wide"
    )
    verb.add_argument("--cpu", type=int, metavar="N", help="CPU to measure on (default: the last)")
    verb.add_argument(
        "--seed", type=int, metavar="N", help="of the order of calls (default: drawn, kept in the result)"
    )
    verb.add_argument(
        "--frame-bytes", type=int, default=60, metavar="N", help="Ethernet header included, FCS not (default: 60)"
    )
    verb.add_argument("--batch", type=int, default=64, metavar="N", help="frames a batch of list receive (default: 64)")
    verb.add_argument("-o", "--output", metavar="FILE", help="keep the result, round by round")
    add_format(verb)
    verb.add_argument("--quiet", action="store_true", help="no progress")
    verb.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Plan, measure, report; what was measured before an interrupt is reported too."""
    from perpkt.experiment import make_plan

    plan = make_plan(
        arguments.names or ["rx"],
        time_s=arguments.time,
        rounds=arguments.rounds,
        precision_ns=arguments.precision,
        cpu=arguments.cpu,
        seed=arguments.seed,
        frame_bytes=arguments.frame_bytes,
        batch=arguments.batch,
    )
    check_target(arguments.output)
    check_writable()
    with contextlib.ExitStack() as stack:
        keeper = Keeper(arguments.output, stack)
        code = _measure(plan, arguments, keeper, stack)
    with signals.deferred():
        reported = _report(keeper, arguments.format)
    return keeper.said() or code or reported


def check_target(output: str | None) -> None:
    """UsageError for an -o that can't be meant: the report goes to standard output."""
    if output == "":
        raise UsageError("-o: the file's name is empty")
    if output in ("-", "/dev/stdout"):
        raise UsageError(f"-o {output}: the report goes to standard output; give a file, or take --format json")


def _measure(plan: Plan, arguments: argparse.Namespace, keeper: Keeper, stack: contextlib.ExitStack) -> int:
    """0, or the exit code of what ended it early; what was measured is with the keeper."""
    from perpkt.cli.progress import progress
    from perpkt.instruments import choose

    observers: list[Observer] = [keeper, *progress(plan, arguments.quiet, stack)]
    try:
        choose.measure(plan, Observers(observers))
    except KeyboardInterrupt:
        complain(
            "interrupted: what was measured is kept" if keeper.result else "interrupted before a round was complete"
        )
        return INTERRUPTED
    except PerpktError as error:
        if keeper.result is None:
            raise
        complain_of(error)
        complain("the report is of the rounds before that")
        return error.exit_code
    return 0


def _report(keeper: Keeper, format_name: str) -> int:
    """Print it; the exit code of what can't be reported, which must not hide how the run ended."""
    from perpkt.analysis import summarise
    from perpkt.report import render

    if keeper.result is None:
        return 0
    try:
        text = render(keeper.result, summarise(keeper.result), format_name)
    except PerpktError as error:
        complain_of(error)
        return error.exit_code
    emit(text)
    return 0


class Keeper:
    """Keeps what was measured so far, in memory and in the file; `refused` is why the file is shorter."""

    def __init__(self, path: str | None, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._path = path
        self._file: ResultFile | None = None
        self._heading: Heading | None = None
        self._rounds: list[tuple[Call, ...]] = []
        self.refused: OutputError | None = None
        if path:
            from perpkt import result_file

            result_file.check_writable(path)

    @property
    def result(self) -> Result | None:
        """What was measured, if a round was complete."""
        from perpkt.result import Result

        return Result(self._heading, tuple(self._rounds)) if self._heading and self._rounds else None

    def verified(self, path: str, done: int, total: int) -> None:
        """Nothing to keep yet."""

    def begun(self, heading: Heading) -> None:
        """Keep the heading; a file that is there stays as it is until there is a round to write."""
        self._heading = heading

    def round_done(self, calls: tuple[Call, ...], session: Session) -> None:
        """Append the round. Measuring goes on if it can't be written: the report can still be printed."""
        self._rounds.append(calls)
        if self._path and not self.refused:
            try:
                self._append(calls)
            except OutputError as error:
                self.refused = error

    def _append(self, calls: tuple[Call, ...]) -> None:
        from perpkt.result_file import ResultFile

        if self._file is None and self._path and self._heading:
            self._file = ResultFile.create(self._path, self._heading)
            self._stack.callback(self._close)
        if self._file:
            self._file.append(calls)

    def _close(self) -> None:
        try:
            if self._file:
                self._file.close()
        except OutputError as error:
            self.refused = self.refused or error

    def said(self) -> int:
        """Say why the file is not whole, if it is not; the exit code. A reader that has gone is no error."""
        if self.refused is None or isinstance(self.refused.__cause__, BrokenPipeError):
            return 0
        complain_of(self.refused)
        return self.refused.exit_code


class Observers:
    """Tells several observers the same."""

    def __init__(self, observers: list[Observer]) -> None:
        self._observers = observers

    def verified(self, path: str, done: int, total: int) -> None:
        """Pass it on."""
        for observer in self._observers:
            observer.verified(path, done, total)

    def begun(self, heading: Heading) -> None:
        """Pass it on."""
        for observer in self._observers:
            observer.begun(heading)

    def round_done(self, calls: tuple[Call, ...], session: Session) -> None:
        """Pass it on."""
        for observer in self._observers:
            observer.round_done(calls, session)
