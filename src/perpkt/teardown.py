"""Undoing that never masks what went wrong before it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import TracebackType

from perpkt.errors import PerpktError


def push(stack: contextlib.ExitStack, undo: Callable[[], object]) -> None:
    """Have `stack` call `undo` at its end; its error becomes a note of the one that is already on its way."""

    def leave(kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        try:
            undo()
        except PerpktError as second:
            if error is None:
                raise
            error.add_note(f"and while it was taken away: {second}")
        return False

    stack.push(leave)
