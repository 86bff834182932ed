"""cli.main: every way in which a command line can be wrong ends with its code and one line, never with a traceback."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from perpkt import store
from perpkt.instruments import choose
from perpkt.result import Result
from perpkt.spec import Plan
from perpkt.testing import sample_result

from .conftest import PERPKT, Perpkt, elsewhere

NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")


@pytest.fixture(autouse=True)
def _nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command line that should have been refused would be seen by its code, 70."""

    def refused(plan: Plan, observer: object = None) -> Result:
        raise AssertionError("a measurement began")

    monkeypatch.setattr(choose, "measure", refused)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "VERB"),
        (["rnu"], "invalid choice: 'rnu': did you mean run?"),
        (["zzzz"], "invalid choice: 'zzzz'"),
        (["--nonsense"], "VERB"),
        (["run", "--nonsense"], "unrecognized arguments: --nonsense"),
        (["run", "rx/ingres"], "no path or ladder is called 'rx/ingres': did you mean rx/ingress"),
        (["run", ""], "no path or ladder is called ''"),
        (["paths", "loca"], "no path or ladder is called 'loca': did you mean local"),
        (["paths", "--commands"], "--commands: name a path or a ladder"),
        (["report"], "FILE"),
        (["report", "x", "--format", "jsno"], "invalid choice: 'jsno': did you mean json?"),
        (["completion", "bsh"], "invalid choice: 'bsh': did you mean bash?"),
    ],
    ids=" ".join,
)
def test_usage(words: list[str], said: str, perpkt: Perpkt) -> None:
    """A word that can't be meant ends with 2 and one line that says which, with the near one."""
    answer = perpkt(*words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.complaint


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--frame-bytes", ["0", "13", "59", "9001", "-60", "60.5", "many"]),
        ("--batch", ["0", "3", "-1", "512", "x"]),
        ("--time", ["nan", "0", "-1", "inf", "1e9", "soon"]),
        ("--rounds", ["0", "-3", "1.5", "100001"]),
        ("--precision", ["0", "nan", "-0.5", "inf"]),
        ("--seed", ["x", "1.5"]),
        ("--cpu", ["x", "0.5"]),
    ],
)
def test_option_out_of_range(option: str, values: list[str], perpkt: Perpkt) -> None:
    """A figure that can't be meant ends with 2 and one line that names its option, before anything is measured."""
    for value in values:
        answer = perpkt("run", "ingress", option, value)
        assert (answer.code, answer.out) == (2, ""), value
        assert option in answer.complaint


def cut(path: Path, data: bytes) -> None:
    """The file without its end."""
    path.write_bytes(data[: len(data) // 2])


def foreign(path: Path, data: bytes) -> None:
    """JSON of another program."""
    path.write_text('{"results": [{"command": "true", "mean": 0.001}]}')


def text(path: Path, data: bytes) -> None:
    """No JSON."""
    path.write_text("ns/packet 305.0\n")


def binary(path: Path, data: bytes) -> None:
    """A program."""
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(100))


def empty(path: Path, data: bytes) -> None:
    """Nothing."""
    path.write_bytes(b"")


def future(path: Path, data: bytes) -> None:
    """A schema that is not yet."""
    path.write_text(json.dumps(json.loads(data) | {"schema": 999}))


def folder(path: Path, data: bytes) -> None:
    """No file."""
    path.unlink()
    path.mkdir()


def missing(path: Path, data: bytes) -> None:
    """None."""
    path.unlink()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (cut, "it ends in the middle"),
        (foreign, "is JSON, but not a perpkt result"),
        (text, "is not a whole JSON document"),
        (binary, "is not a whole JSON document"),
        (empty, "is not a whole JSON document"),
        (future, "upgrade perpkt"),
        (folder, "Is a directory"),
        (missing, "No such file or directory"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_report_of_no_result(spoil: Callable[[Path, bytes], None], said: str, saved: Path, perpkt: Perpkt) -> None:
    """A file that is not a whole result ends with 7 and one line with its name and what it is."""
    spoil(saved, saved.read_bytes())
    answer = perpkt("report", saved)
    assert (answer.code, answer.out) == (7, "")
    assert str(saved) in answer.complaint
    assert said in answer.complaint


@pytest.mark.parametrize("format_name", ["text", "markdown", "json", "csv", "netdev"])
def test_report(format_name: str, saved: Path, perpkt: Perpkt) -> None:
    """A result file is reported in each format, with every path in it, and nothing is said beside it."""
    answer = perpkt("report", saved, "--format", format_name)
    assert (answer.code, answer.err) == (0, "")
    assert all(name in answer.out for name in ("rx/other-host", "rx/ingress", "rx/ingress-u32"))


def test_report_of_several(saved: Path, tmp_path: Path, perpkt: Perpkt) -> None:
    """Several runs of one plan are reported as one, with the rounds of all."""
    other = tmp_path / "other.json"
    store.save(sample_result(rounds=5, windows=4, seed=2), other)
    answer = perpkt("report", saved, other, "--format", "json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out)["rounds"] == 11


def test_report_of_unlike_ones(saved: Path, sample: Result, tmp_path: Path, perpkt: Perpkt) -> None:
    """Runs of unlike hosts, and one run given twice, end with 7 and one line that says so."""
    other = tmp_path / "other.json"
    host = msgspec.structs.replace(sample.heading.host, kernel="5.10.0")
    heading = msgspec.structs.replace(sample.heading, host=host)
    store.save(msgspec.structs.replace(sample_result(seed=2), heading=heading), other)
    for words, said in ((other, "kernel: 6.12.0-1-amd64 / 5.10.0"), (saved, "the same round")):
        answer = perpkt("report", saved, words)
        assert (answer.code, answer.out) == (7, "")
        assert said in answer.complaint


def test_report_of_standard_input(saved: Path) -> None:
    """- is standard input."""
    with saved.open() as file:
        done = subprocess.run([*PERPKT, "report", "-"], stdin=file, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "rx/ingress-u32" in done.stdout


@pytest.mark.parametrize("place", ["a folder", "in a missing folder", "full"])
def test_output_that_cannot_be_written(place: str, tmp_path: Path, perpkt: Perpkt) -> None:
    """-o to what can't be written ends with 8 and one line with its name, before anything is measured."""
    path = {"a folder": tmp_path, "in a missing folder": tmp_path / "no" / "r.json", "full": Path("/dev/full")}[place]
    answer = perpkt("run", "ingress", "--time", 1, "-o", path)
    assert (answer.code, answer.out) == (8, "")
    assert str(path) in answer.complaint


def test_full_standard_output(saved: Path) -> None:
    """A report that standard output has no room for ends with 8 and one line."""
    with open("/dev/full", "w") as full:
        answer = elsewhere("report", saved, stdout=full.fileno())
    assert answer.code == 8
    assert "No space left on device" in answer.complaint


def test_closed_standard_output(saved: Path) -> None:
    """Without a standard output a report ends with 8 and one line."""
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *PERPKT, "report", saved], stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 8
    assert done.stderr.startswith("perpkt: write to standard output")


def test_reader_that_took_one_line(saved: Path) -> None:
    """`perpkt report FILE --format json | head -1` ends with 0 on both sides and says nothing more."""
    pipe = '"$@" | head -1; echo "${PIPESTATUS[@]}"'
    done = subprocess.run(
        ["bash", "-c", pipe, "bash", *PERPKT, "report", saved, "--format", "json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "{\n0 0\n"
    assert done.stderr == ""


def test_reader_that_has_gone(saved: Path) -> None:
    """A pipe that nobody reads any more ends the report with 0 and without a word."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        answer = elsewhere("report", saved, stdout=writing)
    finally:
        os.close(writing)
    assert (answer.code, answer.err) == (0, "")


def broken(path: str) -> Result:
    """A fault."""
    raise ValueError("boom")


def test_fault(saved: Path, perpkt: Perpkt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of perpkt ends with 70 and one line that names a log file; the traceback is in there."""
    monkeypatch.setattr(store, "load", broken)
    answer = perpkt("report", saved)
    assert (answer.code, answer.out) == (70, "")
    assert answer.complaint.startswith("a fault of perpkt itself: ValueError: boom; please report it with ")
    log = Path(answer.complaint.rpartition(" ")[2])
    assert log.parent == tmp_path / "state" / "perpkt"
    assert log.read_text().startswith("Traceback")
    assert "in broken" in log.read_text()


def test_fault_without_a_home(saved: Path, perpkt: Perpkt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the state folder can't be made the log is in the folder for temporary files."""
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/state")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(store, "load", broken)
    log = Path(perpkt("report", saved).complaint.rpartition(" ")[2])
    assert log.parent == tmp_path
    assert "in broken" in log.read_text()


def test_interrupt(saved: Path, perpkt: Perpkt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends with 130 and one line."""

    def interrupted(path: str) -> Result:
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "load", interrupted)
    answer = perpkt("report", saved)
    assert (answer.code, answer.complaint) == (130, "interrupted")


def test_help_needs_little() -> None:
    """--help names all verbs and exit codes, and loads neither numpy nor msgspec nor rich nor shtab."""
    code = "import sys; from perpkt.cli.main import main; assert main(['--help']) == 0; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said, _, loaded = done.stdout.rstrip().rpartition("\n")
    assert {one.partition(".")[0] for one in loaded.split()} & {"numpy", "msgspec", "rich", "shtab"} == set()
    assert all(re.search(rf"^ +{verb}\b", said, re.MULTILINE) for verb in ("run", "report", "paths", "doctor"))
    assert all(f"{number} " in said for number in (0, 2, 3, 4, 5, 7, 8, 70, 130))


@pytest.mark.parametrize("verb", ["run", "report", "paths", "doctor", "completion"])
def test_help_of_a_verb(verb: str, perpkt: Perpkt) -> None:
    """Each verb has a --help that ends with 0 and says how it is called."""
    answer = perpkt(verb, "--help")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"usage: perpkt {verb} ")


def test_version(perpkt: Perpkt) -> None:
    """--version is one line."""
    answer = perpkt("--version")
    assert (answer.code, answer.err) == (0, "")
    assert re.fullmatch(r"perpkt \d+\.\d+\.\d+\S*\n", answer.out)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_completion(perpkt: Perpkt) -> None:
    """The completion script for bash is one that bash takes, and knows the verbs."""
    answer = perpkt("completion", "bash")
    assert (answer.code, answer.err) == (0, "")
    checked = subprocess.run(["bash", "-n"], input=answer.out, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert all(verb in answer.out for verb in ("report", "doctor", "--frame-bytes"))


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_completions(shell: str, perpkt: Perpkt) -> None:
    """The other shells have a script too."""
    answer = perpkt("completion", shell)
    assert (answer.code, answer.err) == (0, "")
    assert "perpkt" in answer.out


@functools.cache
def without_privilege() -> tuple[str, ...]:
    """What makes a command run without any privilege; skips where it can't be had."""
    if os.geteuid() != 0:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux) is not installed")
    # root's own Python may lie where nobody may look
    tried = subprocess.run([*NOBODY, *PERPKT, "--version"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip("this Python can't be run by an unprivileged user")
    return NOBODY


def test_unprivileged_run() -> None:
    """Without privileges `perpkt run` ends with 3, the reason on one line and the remedy on the next."""
    answer = elsewhere("run", prefix=without_privilege())
    assert (answer.code, answer.out) == (3, "")
    reason, remedy = answer.err.splitlines()
    assert reason.startswith("perpkt: live measurement needs root: this process lacks CAP_")
    assert "sudo perpkt" in remedy


def test_unprivileged_paths() -> None:
    """Without privileges `perpkt paths` lists everything, and says once why nothing can be measured."""
    answer = elsewhere("paths", prefix=without_privilege())
    assert (answer.code, answer.err) == (0, "")
    assert "- rx/ingress-u32" in answer.out
    assert answer.out.count("needs root") == 1


def test_unprivileged_commands() -> None:
    """A path's script needs no privilege, and is one that sh takes."""
    answer = elsewhere("paths", "rx/ingress-u32", "--commands", prefix=without_privilege())
    assert (answer.code, answer.err) == (0, "")
    assert subprocess.run(["sh", "-n"], input=answer.out, text=True, check=False).returncode == 0


def test_unprivileged_doctor() -> None:
    """Without privileges doctor still says all that it can see, and ends with 3."""
    answer = elsewhere("doctor", prefix=without_privilege())
    assert (answer.code, answer.err) == (3, "")
    assert "- CAP_NET_ADMIN" in answer.out
    assert "remedy: Run as root" in answer.out


@pytest.mark.parametrize(("where", "code"), [("/dev/full", 8), ("| head -0", 0)])
def test_ascii_output_that_cannot_be_written(where: str, code: int, saved: Path) -> None:
    """An encoding without ± changes nothing about how a full disk or a reader that has gone is met."""
    to = where if where.startswith("|") else f"> {where}"
    command = f"set -o pipefail; PYTHONIOENCODING=ascii {' '.join(PERPKT)} report {saved} {to}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_help_that_cannot_be_written() -> None:
    """`perpkt --help` into a full disk ends with 8, as all output does."""
    done = subprocess.run(["bash", "-c", f"{' '.join(PERPKT)} --help > /dev/full"], capture_output=True, check=False)
    assert done.returncode == 8


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["run", "ingress", "--presision", "1"], "--precision"),
        (["report", "r.json", "--fromat", "csv"], "--format"),
        (["doctor", "--claen"], "--clean"),
        (["run", "RX/Ingress"], "rx/ingress"),
    ],
)
def test_misspelt(words: list[str], near: str, perpkt: Perpkt) -> None:
    """An option or name that is nearly one is answered with the one that was meant."""
    answer = perpkt(*words)
    assert answer.code == 2
    assert f"did you mean {near}" in answer.complaint


@pytest.mark.parametrize("option", ["--frame-bytes", "--batch", "--rounds"])
def test_number_beyond_all_bounds(option: str, perpkt: Perpkt) -> None:
    """A number of 400 digits is out of range, no fault."""
    answer = perpkt("run", "ingress", option, "9" * 400)
    assert answer.code == 2
    assert len(answer.complaint) < 200


def test_complaint_with_control_characters(perpkt: Perpkt) -> None:
    """What a terminal would obey is shown as what it is, on one line."""
    answer = perpkt("report", "\x1b[31m\nred.json")
    assert answer.code == 7
    assert "\\x1b[31m\\nred.json" in answer.complaint


def test_closed_standard_error(saved: Path) -> None:
    """Without standard error a complaint goes nowhere, least of all to standard output."""
    command = f"{' '.join(PERPKT)} run nope 2>&-"
    done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
