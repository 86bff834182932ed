"""perpkt's command line: parse, call one verb, turn what went wrong into one line and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

from perpkt.cli import doctor, paths, report, run
from perpkt.cli.output import ReaderGone, complain, complain_of, emit
from perpkt.errors import INTERRUPTED, PerpktError, UsageError
from perpkt.version import own_version

FAULT = 70
_VERBS = (run, report, paths, doctor)


class Parser(argparse.ArgumentParser):
    """argparse whose complaints are UsageErrors, with the near match."""

    def error(self, message: str) -> NoReturn:
        """One line; the verb's --help is named."""
        raise UsageError(f"{_nearer(message, self.all_options())} (see `{self.prog} --help`)")

    def all_options(self) -> set[str]:
        """The long options of this parser and of its verbs."""
        strings = (option for action in self.all_actions() for option in action.option_strings)
        return {option for option in strings if option.startswith("--")}

    def all_actions(self) -> Iterator[argparse.Action]:
        """Options and arguments of this parser and of its verbs."""
        for action in self._actions:
            yield action
            if isinstance(action.choices, dict):
                for one in action.choices.values():
                    yield from one.all_actions() if isinstance(one, Parser) else ()

    def _print_message(self, message: str, file: object = None) -> None:
        """--help and --version, by the way that all output takes: a full disk or a reader gone is noticed."""
        if message:
            emit(message)


def _nearer(message: str, options: Iterable[str]) -> str:
    """argparse's words, with the near choice or option in place of a list."""
    head, _, tail = message.partition(" (choose from ")
    if tail:
        choices = [one.strip("' ") for one in tail.rstrip(")").split(",")]
        return _with_near(head, head.rpartition("'")[0].rpartition("'")[2], choices) or message
    unknown = message.removeprefix("unrecognized arguments: ").split()
    if unknown and message.startswith("unrecognized") and unknown[0].startswith("-"):
        return _with_near(message, unknown[0].partition("=")[0], options) or message
    return message


def _with_near(words: str, wrong: str, known: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(wrong.casefold(), list(known), 1, 0.6)
    return f"{words}: did you mean {near[0]}?" if near else None


def parser() -> Parser:
    """The whole command line; shtab makes shell completion of it."""
    top = Parser(
        prog="perpkt",
        description="What every packet costs: ns/packet of each path through the Linux network stack.",
        epilog="Exit codes: 0 done, 2 usage, 3 this machine can't, 4 the kernel refused, 5 the numbers can't be "
        "trusted, 7 a result file can't be used, 8 the output can't be written, 70 a fault of perpkt, 130 interrupted.",
    )
    top.add_argument("--version", action="version", version=f"perpkt {own_version()}")
    verbs = top.add_subparsers(title="verbs", metavar="VERB", dest="verb", required=True)
    for module in _VERBS:
        module.add_to(verbs)
    completion = verbs.add_parser("completion", help="print a shell completion script")
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    completion.set_defaults(call=_completion)
    return top


def _completion(arguments: argparse.Namespace) -> int:
    import shtab

    from perpkt.paths import CATALOGUE, LADDERS

    names = [*(ladder.name for ladder in LADDERS), *(path.name for path in CATALOGUE)]
    top = parser()
    for action in top.all_actions():
        if action.dest in ("names", "name"):
            action.choices = names
        elif action.dest in ("files", "output"):
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # how shtab is told
    emit(shtab.complete(top, arguments.shell))
    return 0


def main(argv: list[str]) -> int:
    """Run one command line; returns the exit code and never raises."""
    try:
        _heed_signals()
        arguments = parser().parse_args(argv)
        return int(arguments.call(arguments))
    except ReaderGone:
        return 0
    except PerpktError as error:
        complain_of(error)
        return error.exit_code
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    except Exception as error:  # the last place: no traceback reaches a user
        return _fault(error)


def _heed_signals() -> None:
    """SIGTERM and SIGHUP end a run as Ctrl-C does. Only a process's first thread may say so."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            # nohup has SIGHUP ignored, and means it
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _terminate)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _fault(error: Exception) -> int:
    complain(f"a fault of perpkt itself: {type(error).__name__}: {error}; please report it with {_log(error)}")
    return FAULT


def _log(error: Exception) -> str:
    text = "".join(traceback.format_exception(error))
    name = f"fault-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
    for folder in (_state_folder, tempfile.gettempdir):
        # RuntimeError: a user without a home
        with contextlib.suppress(OSError, RuntimeError):
            path = Path(folder()) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return str(path)
    return "what it was doing (no log file could be written)"


def _state_folder() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "perpkt"
