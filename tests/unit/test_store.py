"""store: what is in the file at every moment, and what is refused when it is read."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perpkt import result_file, store
from perpkt.errors import Incomparable, OutputError, ResultError, SchemaMismatch
from perpkt.result import SCHEMA, Caveat, Result
from perpkt.testing import sample_result

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SAMPLE = sample_result(rounds=3, windows=4)
replace = msgspec.structs.replace


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A file with the sample."""
    path = tmp_path / "r.json"
    store.save(SAMPLE, path)
    return path


def with_host(result: Result, **changes: object) -> Result:
    """The result as if measured on another host."""
    host = replace(result.heading.host, **changes)
    return replace(result, heading=replace(result.heading, host=host))


def with_plan(result: Result, **changes: object) -> Result:
    """The result as if of another plan."""
    plan = replace(result.heading.plan, **changes)
    return replace(result, heading=replace(result.heading, plan=plan))


def refusal(path: Path, data: bytes) -> str:
    """What load says of the data: one line of a ResultError."""
    path.write_bytes(data)
    with pytest.raises(ResultError) as caught:
        store.load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_round_trip(saved: Path) -> None:
    """What was saved is loaded, to the last field."""
    assert store.load(saved) == SAMPLE


def test_whole_after_each_round(tmp_path: Path) -> None:
    """After the heading and after every round the file is a document of the rounds so far."""
    path = tmp_path / "r.json"
    with result_file.ResultFile.create(path, SAMPLE.heading) as file:
        assert store.load(path) == Result(SAMPLE.heading)
        for count, calls in enumerate(SAMPLE.rounds, 1):
            file.append(calls)
            assert store.load(path) == replace(SAMPLE, rounds=SAMPLE.rounds[:count])
            assert list(json.loads(path.read_bytes())) == ["format", "schema", "heading", "rounds"]


def test_one_write_a_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round is added by exactly one pwrite, so that a kill can't come between two."""
    sizes: list[int] = []
    pwrite = os.pwrite

    def counted(fd: int, data: bytes, at: int) -> int:
        sizes.append(len(data))
        return pwrite(fd, data, at)

    with result_file.ResultFile.create(tmp_path / "r.json", SAMPLE.heading) as file:
        monkeypatch.setattr(os, "pwrite", counted)
        file.append(SAMPLE.rounds[0])
    assert len(sizes) == 1


def test_killed_run_keeps_its_rounds(tmp_path: Path) -> None:
    """A process that is killed between rounds leaves its rounds, and no other file."""
    path = tmp_path / "r.json"
    child = os.fork()
    if child == 0:
        try:
            result_file.ResultFile.create(path, SAMPLE.heading).append(SAMPLE.rounds[0])
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    assert store.load(path).rounds == SAMPLE.rounds[:1]
    assert os.listdir(tmp_path) == ["r.json"]


@pytest.mark.parametrize("written", [None, 1, 100])
def test_full_disk_leaves_the_shorter_run(written: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails or stops short is an OutputError, and the file holds the rounds before it."""
    path = tmp_path / "r.json"
    pwrite = os.pwrite

    def full(fd: int, data: bytes, at: int) -> int:
        monkeypatch.setattr(os, "pwrite", pwrite)
        if written is None:
            raise OSError(28, "No space left on device")
        return pwrite(fd, data[:written], at)

    with result_file.ResultFile.create(path, SAMPLE.heading) as file:
        file.append(SAMPLE.rounds[0])
        monkeypatch.setattr(os, "pwrite", full)
        with pytest.raises(OutputError, match=r"what was measured before is in the file") as caught:
            file.append(SAMPLE.rounds[1])
        assert store.load(path).rounds == SAMPLE.rounds[:1]
        file.append(SAMPLE.rounds[2])
    assert str(path) in str(caught.value)
    assert store.load(path).rounds == (SAMPLE.rounds[0], SAMPLE.rounds[2])


LIMIT_BYTES = 8192


@contextlib.contextmanager
def file_limit() -> Iterator[None]:
    """RLIMIT_FSIZE for the length of the block: the kernel's own short write. pytest's log may be longer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_file_size_limit(tmp_path: Path) -> None:
    """When the kernel itself cuts a write short, every round before it is kept."""
    path = tmp_path / "r.json"
    kept = 0
    with file_limit(), result_file.ResultFile.create(path, SAMPLE.heading) as file:
        while path.stat().st_size + 1500 < LIMIT_BYTES:
            file.append(SAMPLE.rounds[0])
            kept += 1
        with pytest.raises(OutputError, match="bytes were written"):
            file.append(SAMPLE.rounds[0] * 4)
    assert kept > 0
    assert len(store.load(path).rounds) == kept
    assert path.stat().st_size <= LIMIT_BYTES


def test_longer_file_is_overwritten(saved: Path) -> None:
    """Nothing of an older and longer file is left."""
    store.save(Result(SAMPLE.heading), saved)
    assert store.load(saved).rounds == ()


@pytest.mark.parametrize("target", ["/dev/full", "missing/r.json", ""])
def test_unwritable_target(target: str, tmp_path: Path) -> None:
    """A target that can't be written is an OutputError before anything is measured."""
    path = target if target.startswith("/dev") else str(tmp_path / target)
    with pytest.raises(OutputError, match=r"open|write"):
        result_file.ResultFile.create(path, SAMPLE.heading)
    with pytest.raises(OutputError, match=r"open|write"):
        result_file.check_writable(path)


def test_check_leaves_no_trace(saved: Path, tmp_path: Path) -> None:
    """Asking whether a path can be written neither changes nor makes a file."""
    before = saved.read_bytes()
    result_file.check_writable(saved)
    result_file.check_writable(tmp_path / "new.json")
    assert saved.read_bytes() == before
    assert os.listdir(tmp_path) == [saved.name]


def test_pipe_gets_the_whole_document(tmp_path: Path) -> None:
    """A FIFO's reader gets the document in one piece when the file is closed."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    store.save(SAMPLE, path)
    os.set_blocking(reader, True)
    with open(reader, "rb") as pipe:
        copy = tmp_path / "copy.json"
        copy.write_bytes(pipe.read())
    assert store.load(copy) == SAMPLE


def test_pipe_without_reader(tmp_path: Path) -> None:
    """A reader that went away is an OutputError whose cause is BrokenPipeError."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    file = result_file.ResultFile.create(path, SAMPLE.heading)
    os.close(reader)
    with pytest.raises(OutputError) as caught:
        file.close()
    assert isinstance(caught.value.__cause__, BrokenPipeError)


def test_stdout_keeps_what_is_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A redirected stdout is written where it stands, not from its first byte on."""
    os.write(1, b"before\n")
    store.save(SAMPLE, "/dev/stdout")
    before, text = capfd.readouterr().out.split("\n", 1)
    (tmp_path / "r.json").write_text(text)
    assert before == "before"
    assert store.load(tmp_path / "r.json") == SAMPLE


def test_first_error_is_not_masked(tmp_path: Path) -> None:
    """An error at close is a note on the error that ended the run."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    file = result_file.ResultFile.create(path, SAMPLE.heading)
    os.close(reader)
    first = KeyboardInterrupt()
    file.__exit__(KeyboardInterrupt, first, None)
    assert "Broken pipe" in first.__notes__[0]


def test_truncated_anywhere(saved: Path) -> None:
    """A document cut at any byte is refused as not whole, naming the byte."""
    data = saved.read_bytes()
    for end in range(0, len(data) - 2, 50):
        assert f"after byte {end}" in refusal(saved, data[:end])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None)
@given(at=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_any_changed_byte(saved: Path, at: int, byte: int) -> None:
    """One wrong byte gives another result or a ResultError, never another exception."""
    data = bytearray(saved.read_bytes())
    data[at % len(data)] = byte
    copy = saved.with_name("changed.json")
    copy.write_bytes(data)
    try:
        store.load(copy)
    except ResultError as error:
        assert str(copy) in str(error)  # noqa: PT017 - an error may come, and need not


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a whole JSON document"),
        (b"\x7fELF\x02\x01", "not a whole JSON document"),
        (b"\xff\xfe{}", "not a whole JSON document"),
        (b'{"format":"\xff"}', "not a whole JSON document"),
        (b"NaN", "not a whole JSON document"),
        (b'{"format":NaN}', "not a whole JSON document"),
        (b"[" * 100_000, "not a"),
        (b'{"x":' * 100_000, "nested too deep"),
        (b"[1]", "not a perpkt result"),
        (b"null", "not a perpkt result"),
        (b"{}", "not a perpkt result"),
        (b'{"format":"pyperf","schema":1}', "not a perpkt result"),
        (b'{"format":"perpkt-result"}', "not a perpkt result"),
        (b'{"format":"perpkt-result","schema":0}', "not a perpkt result"),
        (b'{"format":"perpkt-result","schema":"1"}', "schema"),
        (b'{"format":"perpkt-result","schema":1,"heading":3,"rounds":[]}', "heading"),
    ],
)
def test_foreign_files(data: bytes, words: str, tmp_path: Path) -> None:
    """What is not a result is refused in one line that says what it is not."""
    assert words in refusal(tmp_path / "x", data)


def test_newer_schema(saved: Path) -> None:
    """A later schema is refused with both numbers and what to do, whatever else it holds."""
    message = refusal(saved, b'{"format":"perpkt-result","schema":%d,"new":{}}' % (SCHEMA + 1))
    assert f"newer perpkt (schema {SCHEMA + 1}; this one reads up to {SCHEMA}): upgrade perpkt" in message


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (b'"schema":1', b'"schema":0', "not a perpkt result"),
        (b'"window_packets":512', b'"window_packets":0', "$.rounds[0][0]"),
        (b'"windows_ns":[', b'"windows_ns":[-1,', "$.rounds[0][0]"),
        (b'"windows_ns":[', b'"windows_ns":[0,', "$.rounds[0][0]"),
        (b'"windows_ns":[', b'"windows_ns":[99999999999999999999,', "$.rounds[0][0]"),
        (b'"windows_ns":[', b'"windows_ns":["1",', "windows_ns"),
        (b'"time_s":20.0', b'"time_s":-1', "--time"),
        (b'"seed":1', b'"seed":1,"colour":1', "colour"),
        (b'[{"path":"rx', b'[{"path":"tx', "not in the plan"),
    ],
)
def test_wrong_figures(before: bytes, after: bytes, words: str, saved: Path) -> None:
    """A figure that can't be is refused with its place in the document."""
    data = saved.read_bytes()
    assert before in data
    assert words in refusal(saved, data.replace(before, after))


def test_unreadable(tmp_path: Path) -> None:
    """A file that can't be read is a ResultError with the kernel's words, not a schema's."""
    for path, words in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file")):
        with pytest.raises(ResultError, match=words) as caught:
            store.load(path)
        assert not isinstance(caught.value, SchemaMismatch)


def test_endless_file() -> None:
    """What can't be a result is not read to its end."""
    with pytest.raises(SchemaMismatch):
        store.load("/dev/zero")


def test_merge_joins_rounds() -> None:
    """Merged runs have all rounds, and no two runs share a testbed number."""
    other = with_plan(sample_result(rounds=2, windows=4, seed=2), seed=2, time_s=40.0, rounds=9, precision_ns=0.5)
    merged = store.merge([SAMPLE, other])
    assert [len(calls) for calls in merged.rounds] == [4] * 5
    first, second = (
        {call.testbed for calls in part for call in calls} for part in (merged.rounds[:3], merged.rounds[3:])
    )
    assert first == {0, 1}
    assert second == {2, 3}
    assert [call.windows_ns for call in merged.calls] == [call.windows_ns for call in SAMPLE.calls + other.calls]


def test_merge_keeps_doubts() -> None:
    """A caveat of any run is in the merged heading, once; verifications are all kept."""
    doubt = Caveat("noisy", "a neighbour was busy")
    other = sample_result(rounds=1, windows=4, seed=2)
    doubted = replace(other, heading=replace(other.heading, caveats=(doubt,)))
    third = replace(doubted, rounds=sample_result(rounds=1, windows=4, seed=3).rounds)
    merged = store.merge([SAMPLE, doubted, third])
    assert merged.heading.caveats == (doubt,)
    assert len(merged.heading.verifications) == 3 * len(SAMPLE.heading.verifications)


def test_merge_of_one() -> None:
    """One result merges into itself, and none is an error."""
    assert store.merge([SAMPLE]) == SAMPLE
    with pytest.raises(ResultError):
        store.merge([])


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (with_host(SAMPLE, kernel="6.1.0"), "kernel: 6.12.0-1-amd64 / 6.1.0"),
        (with_host(SAMPLE, boot_id="b"), "boot_id: c0ffee00-0000-4000-8000-000000000001 / b"),
        (with_host(SAMPLE, cpu_model="i486"), "cpu_model: AMD EPYC 7763 64-Core Processor / i486"),
        (with_host(SAMPLE, mitigations={"meltdown": "Not affected"}), "mitigation spectre_v1: Mitigation: usercopy"),
        (with_plan(SAMPLE, batch=32), "batch: 64 / 32"),
        (with_plan(SAMPLE, cpu=1), "cpu: none / 1"),
        (with_plan(SAMPLE, paths=SAMPLE.heading.plan.paths[:2]), "paths: rx/ingress-u32 / none"),
        (
            with_plan(
                SAMPLE, paths=(replace(SAMPLE.heading.plan.paths[0], held_bytes=1), *SAMPLE.heading.plan.paths[1:])
            ),
            "paths: rx/other-host / rx/other-host (changed)",
        ),
        (replace(SAMPLE, heading=replace(SAMPLE.heading, same_path=())), "same_path: rx/other-host / none"),
    ],
)
def test_merge_refuses_unlike(other: Result, words: str) -> None:
    """Unlike hosts and plans are refused, and the message names the field and both its values."""
    with pytest.raises(Incomparable) as caught:
        store.merge([SAMPLE, other])
    assert words in str(caught.value)


def test_merge_refuses_repeats() -> None:
    """The same round twice is refused, also when one of the files was merged before."""
    other = sample_result(rounds=1, windows=4, seed=2)
    for results in ([SAMPLE, SAMPLE], [store.merge([other, SAMPLE]), SAMPLE]):
        with pytest.raises(Incomparable, match="same round"):
            store.merge(results)


def test_two_writers(tmp_path: Path) -> None:
    """A file that one run writes to is refused to another, when it asks and when it begins."""
    path = tmp_path / "r.json"
    with result_file.ResultFile.create(path, SAMPLE.heading) as file:
        file.append(SAMPLE.rounds[0])
        with pytest.raises(OutputError, match="another run is writing"):
            result_file.check_writable(path)
        with pytest.raises(OutputError, match="another run is writing"):
            result_file.ResultFile.create(path, SAMPLE.heading)
    assert store.load(path).rounds == SAMPLE.rounds[:1]


def test_strange_tail(tmp_path: Path) -> None:
    """A file to which something else was appended is not written to any more."""
    path = tmp_path / "r.json"
    with result_file.ResultFile.create(path, SAMPLE.heading) as file:
        with path.open("a") as other:
            other.write("garbage")
        with pytest.raises(OutputError, match="changed by another program"):
            file.append(SAMPLE.rounds[0])


def test_fifo_without_a_reader(tmp_path: Path) -> None:
    """A FIFO that nobody reads is refused, not waited for."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    with pytest.raises(OutputError, match="No such device or address"):
        result_file.ResultFile.create(path, SAMPLE.heading)
