"""Standard output: written at once, quiet when its reader has gone, an error when it can't be written."""

from __future__ import annotations

import contextlib
import os
import sys

from perpkt.errors import HostError, OutputError, PerpktError

_LONGEST = 2000


class ReaderGone(Exception):
    """Standard output is a pipe that nobody reads any more."""


def emit(text: str) -> None:
    """Print `text` and one newline; ReaderGone or OutputError where that fails."""
    if sys.stdout is None:
        raise OutputError("write to standard output: it is closed; give -o FILE")
    # a terminal that has no sign for ± or · gets a question mark
    encoding = sys.stdout.encoding or "utf-8"
    printable = text.encode(encoding, "replace").decode(encoding)
    try:
        sys.stdout.write(printable.rstrip("\n") + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _forget()
        raise ReaderGone from None
    except OSError as error:
        _forget()
        raise OutputError(f"write to standard output: {error.strerror}; free some room or write elsewhere") from None


def _forget() -> None:
    """What is still buffered goes nowhere: Python would try once more at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def complain(*lines: str) -> None:
    """A message on standard error, if there is one: one line for each of `lines`, whatever they hold."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError, ValueError):
        print("perpkt:", "\n".join(map(printable, lines)), file=sys.stderr, flush=True)


def complain_of(error: PerpktError) -> None:
    """The error, its remedy if it has one on a line of its own, and what was noted with it."""
    lines = [error.reason, error.remedy] if isinstance(error, HostError) else [str(error)]
    complain(*(line for line in [*lines, *getattr(error, "__notes__", [])] if line))


def printable(text: str) -> str:
    """Text from anywhere on one line, without characters that a terminal would obey, and of bounded length."""
    shown = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def check_writable() -> None:
    """OutputError, before anything is measured, where standard output is closed or takes nothing."""
    try:
        if sys.stdout is not None:
            os.write(sys.stdout.fileno(), b"")
            return
        reason = "it is closed"
    except ValueError:
        return  # a stand-in without a descriptor
    except OSError as error:
        reason = str(error.strerror)
    raise OutputError(f"write to standard output: {reason}; write elsewhere")
