"""Signals that end a run, put off to where nothing is half done.

An exception raised just anywhere could leave this thread in a foreign namespace, or a socket in one that
nobody closes. So SIGINT, SIGTERM and SIGHUP are noted while a run lasts, and acted on at its `check`s, of
which each call has one.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# As many signals that no check has acted on mean that something hangs: then anywhere is better than never.
_INSISTENT = 3
_noted: list[int] = []
_handlers: dict[int, object] = {}


def _note(number: int, frame: FrameType | None) -> None:
    _noted.append(number)
    if len(_noted) >= _INSISTENT:
        check()


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """For the length of the block; only where Python handles them, and in the thread that may say so.

    A signal that is still noted at the end is acted on there. Blocks within the block change nothing.
    """
    if threading.current_thread() is not threading.main_thread() or _handlers:
        yield
        return
    _noted.clear()
    _handlers.update({number: signal.getsignal(number) for number in ENDING if callable(signal.getsignal(number))})
    try:
        for number in _handlers:
            signal.signal(number, _note)
        yield
        check()
    finally:
        for number, handler in _handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # it came from getsignal
        _handlers.clear()


def check() -> None:
    """Act on what was noted, as it would have been acted on without `deferred`: mostly KeyboardInterrupt."""
    while _noted and threading.current_thread() is threading.main_thread():
        number = _noted.pop()
        handler = _handlers.get(number)
        if callable(handler):
            handler(number, None)
