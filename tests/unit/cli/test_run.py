"""cli.run: what is reported and kept, with a measurement that the test scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from perpkt import result_file, store
from perpkt.errors import OutputError, PacketsLost
from perpkt.instruments import choose
from perpkt.instruments.live import Observer
from perpkt.measure.session import Session
from perpkt.result import Call, Result
from perpkt.spec import Plan
from perpkt.testing import FakeClock, ScriptedRunner, sample_call

from .conftest import Perpkt


class Scripted:
    """choose.measure: tells the observer of a result's rounds, and raises `error` after `rounds` of them."""

    def __init__(self, result: Result, rounds: int = 99, error: BaseException | None = None) -> None:
        self.plan: Plan | None = None
        self._result = result
        self._rounds = rounds
        self._error = error

    def __call__(self, plan: Plan, observer: Observer) -> Result:
        """The result, unless the error comes first."""
        self.plan = plan
        runner = ScriptedRunner(lambda slot, number: sample_call(slot.path.name, [1]), FakeClock())
        session = Session(self._result.heading.plan, runner, FakeClock())
        observer.verified("rx/ingress", 1, 1)
        if self._rounds:
            observer.begun(self._result.heading)
        for calls in self._result.rounds[: self._rounds]:
            session.readings.add(calls)
            observer.round_done(calls, session)
        if self._error:
            raise self._error
        return self._result


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Where the result goes."""
    return tmp_path / "out.json"


def test_run(perpkt: Perpkt, sample: Result, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run prints the report, and the file that it leaves is reported in the same words."""
    monkeypatch.setattr(choose, "measure", Scripted(sample))
    answer = perpkt("run", "ingress", "-o", output)
    assert answer.code == 0
    assert answer.err == "perpkt: verified 1 paths: every packet met its fate\n"
    assert store.load(output) == sample
    assert perpkt("report", output).out == answer.out != ""


def test_quiet(perpkt: Perpkt, sample: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """--quiet leaves the report and nothing else."""
    monkeypatch.setattr(choose, "measure", Scripted(sample))
    answer = perpkt("run", "--quiet", "--format", "csv")
    assert (answer.code, answer.err) == (0, "")
    assert "rx/ingress-u32" in answer.out


def test_options_are_the_plans(perpkt: Perpkt, sample: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every option reaches the plan."""
    measure = Scripted(sample)
    monkeypatch.setattr(choose, "measure", measure)
    options = "--time 7 --rounds 3 --precision 0.5 --cpu 1 --seed 9 --frame-bytes 128 --batch 32 --quiet"
    assert perpkt("run", "local", "rx/ingress", *options.split()).code == 0
    plan = measure.plan
    assert plan is not None
    assert (plan.ladders, plan.named) == (("local",), ("rx/ingress",))
    assert (plan.time_s, plan.rounds, plan.precision_ns, plan.cpu) == (7, 3, 0.5, 1)
    assert (plan.seed, plan.frame_bytes, plan.batch) == (9, 128, 32)


def test_interrupted(perpkt: Perpkt, sample: Result, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted run ends with 130, reports the rounds that it made, and keeps them."""
    monkeypatch.setattr(choose, "measure", Scripted(sample, 5, KeyboardInterrupt()))
    answer = perpkt("run", "ingress", "--quiet", "-o", output)
    assert answer.code == 130
    assert answer.complaint == "interrupted: what was measured is kept"
    assert "5 rounds" in answer.out
    assert store.load(output).rounds == sample.rounds[:5]


def test_interrupted_at_once(perpkt: Perpkt, sample: Result, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is interrupted before its first round ends with 130, without a report and without a file."""
    monkeypatch.setattr(choose, "measure", Scripted(sample, 0, KeyboardInterrupt()))
    answer = perpkt("run", "ingress", "--quiet", "-o", output)
    assert (answer.code, answer.out) == (130, "")
    assert answer.complaint == "interrupted before a round was complete"
    assert not output.exists()


def test_failed(perpkt: Perpkt, sample: Result, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that fails reports the rounds before that, says why it failed and ends with the error's code."""
    monkeypatch.setattr(choose, "measure", Scripted(sample, 2, PacketsLost("rx/x: 1 are in no counter")))
    answer = perpkt("run", "ingress", "--quiet", "-o", output)
    assert answer.code == 5
    assert answer.err == "perpkt: rx/x: 1 are in no counter\nperpkt: the report is of the rounds before that\n"
    assert "rx/other-host" in answer.out
    assert store.load(output).rounds == sample.rounds[:2]


def test_failed_at_once(perpkt: Perpkt, sample: Result, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that fails before its first round reports nothing, and leaves a file that was there as it was."""
    output.write_text("an older result")
    monkeypatch.setattr(choose, "measure", Scripted(sample, 0, PacketsLost("rx/x: 1 are in no counter")))
    answer = perpkt("run", "ingress", "--quiet", "-o", output)
    assert (answer.code, answer.out) == (5, "")
    assert answer.complaint == "rx/x: 1 are in no counter"
    assert output.read_text() == "an older result"


@pytest.mark.parametrize(
    ("output", "said"), [("", "empty"), ("-", "standard output"), ("/dev/stdout", "--format json")]
)
def test_output_that_cannot_be_meant(output: str, said: str, perpkt: Perpkt) -> None:
    """An empty name and standard output, where the report goes, are refused as -o."""
    answer = perpkt("run", "ingress", "--quiet", "-o", output)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.complaint


def test_file_that_was_replaced(perpkt: Perpkt, sample: Result, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result file that is gone at the end is said, after the report."""

    def measure(plan: Plan, observer: Observer) -> Result:
        result = Scripted(sample)(plan, observer)
        output.unlink()
        return result

    monkeypatch.setattr(choose, "measure", measure)
    answer = perpkt("run", "ingress", "--quiet", "-o", output)
    assert answer.code == 8
    assert "removed or replaced" in answer.complaint
    assert "6 rounds" in answer.out


def test_notes_of_an_error(perpkt: Perpkt, sample: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong on the way out stands below what went wrong first."""
    error = PacketsLost("rx/x: 1 are in no counter")
    error.add_note("and its namespace could not be deleted")
    monkeypatch.setattr(choose, "measure", Scripted(sample, 0, error))
    answer = perpkt("run", "ingress", "--quiet")
    assert answer.err == "perpkt: rx/x: 1 are in no counter\nand its namespace could not be deleted\n"


def test_disk_that_fills_up(perpkt: Perpkt, sample: Result, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that no more fits into ends with 8, after the report of all that was measured; its rounds are kept."""
    append = result_file.ResultFile.append

    def full(file: result_file.ResultFile, calls: tuple[Call, ...]) -> None:
        if calls == sample.rounds[3]:
            raise OutputError("write round: No space left on device")
        append(file, calls)

    monkeypatch.setattr(result_file.ResultFile, "append", full)
    monkeypatch.setattr(choose, "measure", Scripted(sample))
    answer = perpkt("run", "ingress", "--quiet", "-o", output)
    assert answer.code == 8
    assert answer.complaint == "write round: No space left on device"
    assert "6 rounds" in answer.out
    assert store.load(output).rounds == sample.rounds[:3]
