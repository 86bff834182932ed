"""Result <-> one JSON document file: saved and read whole, merged only when alike."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from perpkt.errors import Incomparable, ResultError, SchemaMismatch, UsageError
from perpkt.result import SCHEMA, Call, Heading, Result
from perpkt.result_file import FORMAT, ResultFile
from perpkt.spec import Plan, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SAME_HOST = ("kernel", "kernel_version", "machine", "cpu_model", "boot_id")
_FREE_PLAN = ("seed", "time_s", "rounds", "precision_ns")
_LARGEST_COUNT = 2**63 - 1


class _Label(msgspec.Struct):
    """What a document says of itself; all else is passed over."""

    format: str | None = None
    schema: int | None = None


class _Document(Record, frozen=True):
    format: str
    schema: int
    heading: Heading
    rounds: tuple[tuple[Call, ...], ...]


def save(result: Result, path: str | os.PathLike[str]) -> None:
    """Writes a whole result."""
    with ResultFile.create(path, result.heading) as file:
        for calls in result.rounds:
            file.append(calls)


def load(path: str | os.PathLike[str]) -> Result:
    """The result in a file (`-`: standard input); ResultError or SchemaMismatch says why it can't be used."""
    name = os.fspath(path)
    data = _read(name)
    try:
        _check_label(name, msgspec.json.decode(data, type=_Label))
        document = msgspec.json.decode(data, type=_Document)
        _check_calls(document)
    except msgspec.ValidationError as error:
        raise SchemaMismatch(f"{name}: is not a perpkt result: {error}; give a file that perpkt run wrote") from error
    except UsageError as error:
        raise SchemaMismatch(f"{name}: its plan can't be meant: {error}; measure again") from error
    except RecursionError as error:
        raise SchemaMismatch(f"{name}: is not a perpkt result: it is nested too deep") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SchemaMismatch(_not_whole(name, data, error)) from error
    return Result(document.heading, document.rounds)


def merge(results: Sequence[Result]) -> Result:
    """All rounds of results of one host, boot and plan, testbeds kept distinct; Incomparable if they are unlike."""
    if not results:
        raise ResultError("merge: no result was given; name two or more files")
    first = results[0]
    for other in results[1:]:
        unlike = _differences(first.heading, other.heading)
        if unlike:
            raise Incomparable("merge: the results differ in " + "; ".join(unlike))
    _refuse_repeats(results)
    return Result(_merged_heading([result.heading for result in results]), tuple(_shifted(results)))


def _read(name: str) -> bytes:
    try:
        with open(0 if name == "-" else name, "rb", closefd=name != "-") as file:
            start = file.read(4096)
            # What can't be a result is not read on: it may be a disk image, or have no end (/dev/zero).
            return start + file.read() if start.lstrip()[:1] == b"{" else start
    except OSError as error:
        raise ResultError(f"read {name}: {error.strerror}; give a file that perpkt run wrote") from error


def _not_whole(name: str, data: bytes, error: Exception) -> str:
    words = str(error)
    where = f"it ends in the middle, after byte {len(data)}" if "truncated" in words else words
    return f"{name}: is not a whole JSON document: {where}; take another copy of it, or measure again"


def _check_label(name: str, label: _Label) -> None:
    if label.format != FORMAT or label.schema is None or label.schema < 1:
        raise SchemaMismatch(f"{name}: is JSON, but not a perpkt result; give a file that perpkt run wrote")
    if label.schema > SCHEMA:
        newer = f"was written by a newer perpkt (schema {label.schema}; this one reads up to {SCHEMA})"
        raise SchemaMismatch(f"{name}: {newer}: upgrade perpkt")


def _check_calls(document: _Document) -> None:
    """ValidationError where the shape is right but the figures can't be."""
    names = {path.name for path in document.heading.plan.paths}
    for i, calls in enumerate(document.rounds):
        for j, call in enumerate(calls):
            where = f"at `$.rounds[{i}][{j}]`"
            if call.path not in names:
                raise msgspec.ValidationError(f"path {call.path!r} is not in the plan - {where}")
            if call.window_packets < 1 or call.testbed < 0 or not _are_counts(call):
                raise msgspec.ValidationError(f"a count or a duration out of range - {where}")


def _are_counts(call: Call) -> bool:
    counts = (call.sent, call.elapsed_ns, call.window_packets, *call.fate.values(), *call.windows_ns)
    return min(counts) >= 0 < min(call.elapsed_ns, *(call.windows_ns or [0])) and max(counts) <= _LARGEST_COUNT


def _differences(a: Heading, b: Heading) -> list[str]:
    fields = [name for name in Plan.__struct_fields__ if name not in (*_FREE_PLAN, "paths")]
    pairs = [(name, getattr(a.host, name), getattr(b.host, name)) for name in _SAME_HOST]
    pairs += [(name, getattr(a.plan, name), getattr(b.plan, name)) for name in fields]
    ones, twos = a.host.mitigations, b.host.mitigations
    pairs += [(f"mitigation {name}", ones.get(name), twos.get(name)) for name in sorted({*ones, *twos})]
    pairs += [("paths", *_unlike_paths(a.plan, b.plan)), ("same_path", a.same_path, b.same_path)]
    return [f"{name}: {_words(one)} / {_words(two)}" for name, one, two in pairs if one != two]


def _unlike_paths(a: Plan, b: Plan) -> tuple[list[str], list[str]]:
    """The paths that only one has; one that was changed stands on both sides. Their order means nothing."""
    ones = [path.name for path in a.paths if path not in b.paths]
    twos = [path.name + " (changed)" * (path.name in ones) for path in b.paths if path not in a.paths]
    return ones, twos


def _words(value: object) -> str:
    return (", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value or "")) or "none"


def _refuse_repeats(results: Sequence[Result]) -> None:
    """Incomparable if a round is there twice: it would make the intervals narrower than they are."""
    seen: set[tuple[tuple[int, ...], ...]] = set()
    for result in results:
        rounds = {tuple(tuple(call.windows_ns) for call in calls) for calls in result.rounds}
        rounds = {windows for windows in rounds if any(windows)}
        if seen & rounds:
            raise Incomparable("merge: the same round is in two of the results; give each run once")
        seen |= rounds


def _shifted(results: Sequence[Result]) -> Iterable[tuple[Call, ...]]:
    base = 0
    for result in results:
        for calls in result.rounds:
            yield tuple(msgspec.structs.replace(call, testbed=call.testbed + base) for call in calls)
        base += 1 + max((call.testbed for call in result.calls), default=-1)


def _merged_heading(headings: Sequence[Heading]) -> Heading:
    """The first heading, with what any of them verified, missed or doubted."""
    return msgspec.structs.replace(
        headings[0],
        measured_at=min(heading.measured_at for heading in headings),
        verifications=tuple(one for heading in headings for one in heading.verifications),
        unavailable=tuple(dict.fromkeys(one for heading in headings for one in heading.unavailable)),
        caveats=tuple(dict.fromkeys(one for heading in headings for one in heading.caveats)),
    )
