"""Standard output: written at once, quiet when its reader has gone, an error when it can't be written."""

from __future__ import annotations

import os
import sys

from perpkt.errors import OutputError


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


def complain(text: str) -> None:
    """A message on standard error, if there is one."""
    try:
        print(f"perpkt: {text}", file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        return
