"""Writes a result file round by round: a whole JSON document after each."""

from __future__ import annotations

import fcntl
import os
import stat
from typing import TYPE_CHECKING, Self

import msgspec

from perpkt.errors import OutputError
from perpkt.result import SCHEMA, Call, Heading

if TYPE_CHECKING:
    from collections.abc import Sequence

# History of the schema:
#   1  the first: format, schema, heading, rounds. `rounds` is last, so that a round is added at the tail.

FORMAT = "perpkt-result"
_TAIL = b"\n]}\n"
# Opened by these names, a redirected stdout would be written from its first byte on: what `>>` keeps would be lost.
_STREAMS = {"-": 1, "/dev/stdout": 1, "/dev/stderr": 2}


class ResultFile:
    """A result file while its run lasts: a whole JSON document after every round.

    What is not a regular file (a pipe, a terminal) gets the document in one piece when it is closed.
    """

    def __init__(self, path: str, fd: int, head: bytes) -> None:
        self.path = path
        self._fd = fd
        self._head = head
        self._in_place = path not in _STREAMS and stat.S_ISREG(os.fstat(fd).st_mode)
        self._held: list[bytes] = []

    @classmethod
    def create(cls, path: str | os.PathLike[str], heading: Heading) -> Self:
        """Opens, locks and empties the file and writes the heading; OutputError if that can't be done."""
        name = os.fspath(path)
        label = b'{"format":"%b","schema":%d,\n"heading":' % (FORMAT.encode(), SCHEMA)
        file = cls(name, _open(name), label + msgspec.json.encode(heading) + b',\n"rounds":[')
        try:
            file._begin()
        except BaseException:
            os.close(file._fd)
            raise
        return file

    def append(self, calls: Sequence[Call]) -> None:
        """Adds one round; when it can't be written, the file is left as it was before."""
        piece = b"\n" + msgspec.json.encode(tuple(calls))
        if not self._in_place:
            self._held.append(piece)
            return
        # The size is asked for, not remembered: an interrupt between write and bookkeeping can't make it wrong.
        end = os.fstat(self._fd).st_size - len(_TAIL)
        if end < len(self._head) or os.pread(self._fd, len(_TAIL), end) != _TAIL:
            raise OutputError(f"{self.path}: was changed by another program while the run wrote to it; write elsewhere")
        comma = b"," if end > len(self._head) else b""
        self._overwrite(comma + piece + _TAIL, end)

    def close(self) -> None:
        """Ends the file; a stream gets the document now. A second close does nothing."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        try:
            try:
                self._check_name(fd)
                _write_all(fd, b"" if self._in_place else self._head + b",".join(self._held) + _TAIL)
            finally:
                os.close(fd)
        except OSError as error:
            raise OutputError(f"write {self.path}: {error.strerror}; the result is lost: write elsewhere") from error

    def _check_name(self, fd: int) -> None:
        """OutputError if the path has another file by now, or none: what was written can't be found there."""
        if not self._in_place:
            return
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            found = None
        if found is None or not os.path.samestat(found, os.fstat(fd)):
            raise OutputError(f"{self.path}: was removed or replaced while the run wrote to it; the result is lost")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self.close()
        except OutputError as second:
            if error is None:
                raise
            error.add_note(str(second))

    def _begin(self) -> None:
        try:
            if self._in_place:
                _lock(self._fd, self.path)
                os.ftruncate(self._fd, 0)
                _write_all(self._fd, self._head + _TAIL)
            else:
                # Nothing is written, but /dev/full says no already here, before anything is measured.
                os.write(self._fd, b"")
        except OSError as error:
            raise OutputError(f"write {self.path}: {error.strerror}; nothing was measured: write elsewhere") from error

    def _overwrite(self, data: bytes, end: int) -> None:
        # One write: the process can be killed before it or after it, but for the instant that the kernel copies.
        try:
            written = os.pwrite(self._fd, data, end)
        except OSError as error:
            raise self._restored(end, str(error.strerror)) from error
        if written != len(data):
            raise self._restored(end, f"only {written} of {len(data)} bytes were written")

    def _restored(self, end: int, reason: str) -> OutputError:
        """The file cut back to its former rounds, and the error that says so."""
        kept = "what was measured before is in the file; free some space, or write elsewhere"
        try:
            os.ftruncate(self._fd, end + len(_TAIL))
            os.pwrite(self._fd, _TAIL, end)
        except OSError as error:
            kept = f"and the file could not be put back ({error.strerror}): do not use it"
        return OutputError(f"write round to {self.path}: {reason}; {kept}")


def check_writable(path: str | os.PathLike[str]) -> None:
    """OutputError if `path` can't be written; a file that is there stays as it is, and none is left behind."""
    name = os.fspath(path)
    existed = os.path.exists(name)
    # A pipe's reader would take an open and close for the end of its input.
    if name in _STREAMS or _is_fifo(name):
        return
    fd = _open(name)
    try:
        _lock(fd, name)
        os.write(fd, b"")
    except OSError as error:
        raise OutputError(f"write {name}: {error.strerror}; write elsewhere") from error
    finally:
        os.close(fd)
        if not existed:
            os.unlink(os.path.realpath(name))


def _open(name: str) -> int:
    try:
        if name in _STREAMS:
            return os.dup(_STREAMS[name])
        # without O_NONBLOCK a FIFO that nobody reads would be waited for; to read is for the tail's check
        kind = os.O_WRONLY | os.O_NONBLOCK if _is_fifo(name) else os.O_RDWR
        fd = os.open(name, kind | os.O_CREAT | os.O_CLOEXEC, 0o666)
        os.set_blocking(fd, True)
        return fd
    except OSError as error:
        raise OutputError(f"open {name} to write: {error.strerror}; give another path") from error


def _is_fifo(name: str) -> bool:
    return os.path.exists(name) and stat.S_ISFIFO(os.stat(name).st_mode)


def _lock(fd: int, name: str) -> None:
    """OutputError if another run writes to the file; the lock goes with the descriptor."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(f"{name}: another run is writing to it; give another path") from None


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
