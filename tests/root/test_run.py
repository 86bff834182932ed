"""perpkt run, as its users run it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from perpkt import experiment
from perpkt.kernel import netns, owner
from perpkt.store import load
from tests.root.conftest import PERPKT, host_state, perpkt

SUMMARY_KEYS = {"schema", "unit", "reference", "same_path_difference_ns", "resolution_ns", "quiet_share"} | {
    "paths",
    "unavailable",
    "caveats",
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, object], Path]:
    """One short run of the ingress ladder: its summary, and its file."""
    path = tmp_path_factory.mktemp("run") / "r.json"
    done = perpkt("run", "ingress", "--time", "8", "--format", "json", "-o", str(path))
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found, path


def test_the_summary_has_its_fixed_form(measured: tuple[dict[str, object], Path]) -> None:
    """--format json prints the documented object, with every packet of every path accounted for."""
    summary, _ = measured
    assert set(summary) >= SUMMARY_KEYS
    assert summary["unit"] == "ns/packet"
    assert summary["reference"] == "rx/other-host"
    paths = summary["paths"]
    assert isinstance(paths, list)
    for path in paths:
        assert sum(path["fate"].values()) == path["sent"] > 0
        assert set(path["witness"]) == set(path["fate"])
        assert path["cost_ns_low"] <= path["cost_ns"] <= path["cost_ns_high"]


def test_the_ladder_is_in_the_order_that_the_kernel_has(measured: tuple[dict[str, object], Path]) -> None:
    """Injecting alone is cheapest; a qdisc costs something, u32 more: signs that hold on any machine."""
    summary, _ = measured
    paths = summary["paths"]
    assert isinstance(paths, list)
    difference = {path["name"]: path["difference_ns"] for path in paths}
    assert difference["rx/floor"] < 0 < difference["rx/ingress"] < difference["rx/ingress-u32"]


def test_a_report_of_the_file_is_the_report_of_the_run(measured: tuple[dict[str, object], Path]) -> None:
    """`perpkt report FILE` says what the run said."""
    summary, path = measured
    done = perpkt("report", str(path), "--format", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == summary


def test_a_stolen_frame_ends_the_run_with_no_figure() -> None:
    """With one frame stolen on its way the run refuses, says how many are missing, and ends with 5."""
    done = perpkt("run", "rx/other-host", "--time", "2", PERPKT_TEST_STEAL="1000")
    assert done.returncode == 5
    assert "1 are in no counter" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_and_reports_what_it_measured(number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C or SIGTERM: exit 130, the report of the rounds so far, and a file that loads."""
    path = tmp_path / "r.json"
    words = [*PERPKT, "run", "ingress", "--time", "60", "-o", str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        _wait_for_rounds(path, 2)
        running.send_signal(number)
        out, err = running.communicate(timeout=30)
    assert running.returncode == 130, err
    assert "rx/other-host" in out
    assert len(load(path).rounds) >= 2
    assert not _left_by(running.pid)


def _wait_for_rounds(path: Path, rounds: int) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() or path.read_text().count("\n[{") < rounds:
        assert time.monotonic() < deadline, "no round was written"
        time.sleep(0.05)


def _left_by(pid: int) -> list[str]:
    names = os.listdir("/run/netns") if os.path.isdir("/run/netns") else []
    return [name for name in names if name.startswith(f"perpkt-{pid}-")]


def test_nothing_is_left_after_kill_9_and_clean(tmp_path: Path) -> None:
    """Killed at random moments, cleaned: the host's links, rules, qdiscs, sysctls and files are as before."""
    before = host_state()
    generator = random.Random(4711)  # noqa: S311 - moments, not secrets
    for number in range(8):
        words = [*PERPKT, "run", "rx", "--time", "30", "--quiet", "-o", str(tmp_path / f"{number}.json")]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            time.sleep(generator.uniform(0.2, 4.0))
            run.kill()
    cleaned = perpkt("doctor", "--clean")
    assert cleaned.returncode == 0
    assert not netns.ownerless()
    _wait_for_state(before)


def _wait_for_state(before: dict[str, str]) -> None:
    # a namespace's end is asked for, and comes a little later
    deadline = time.monotonic() + 20
    while (after := host_state()) != before and time.monotonic() < deadline:
        time.sleep(0.2)
    assert {key: value for key, value in after.items() if value != before.get(key)} == {}


def test_two_runs_at_once_work_and_say_that_they_disturbed_each_other() -> None:
    """The second of two runs has a caveat that names the first, and both account for every packet."""
    words = [*PERPKT, "run", "rx/other-host", "--time", "6", "--format", "json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as first:
        time.sleep(2)
        second = perpkt("run", "rx/ingress", "--time", "3", "--format", "json")
        out, err = first.communicate(timeout=60)
    assert first.returncode == 0, err
    assert second.returncode == 0, second.stderr
    assert [path["name"] for path in json.loads(out)["paths"]] == ["rx/other-host"]
    assert any(caveat["code"] == "another-run" for caveat in json.loads(second.stdout)["caveats"])


def test_a_full_output_is_said_and_what_was_measured_stays() -> None:
    """-o /dev/full ends with 8 and one line, before anything is measured."""
    done = perpkt("run", "rx/other-host", "--time", "2", "-o", "/dev/full")
    assert done.returncode == 8
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_reader_that_goes_away_ends_the_run_quietly() -> None:
    """`perpkt run ... | head -1` ends with 0 and no complaint."""
    command = f"set -o pipefail; {' '.join(PERPKT)} run rx/other-host --time 2 --quiet --format json | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{\n", "")


@pytest.mark.parametrize("size", [1514, 3400])
def test_larger_frames_are_measured(size: int) -> None:
    """Frames up to the kernel's limit are sent and accounted for."""
    done = perpkt("run", "rx/other-host", "--time", "2", "--frame-bytes", str(size), "--format", "json", "--quiet")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["frame_bytes"] == size


def test_a_frame_over_the_kernels_limit_is_refused_with_the_limit() -> None:
    """3500 bytes do not fit into a live frame: usage, one line, and the largest that does."""
    done = perpkt("run", "rx/other-host", "--time", "2", "--frame-bytes", "3500")
    assert done.returncode == 2
    assert "the largest live frame of this kernel has 34" in done.stderr


def test_precision_ends_a_run_early() -> None:
    """A coarse --precision is reached at a look, long before the time is over."""
    start = time.monotonic()
    done = perpkt("run", "rx/other-host", "--time", "60", "--precision", "50", "--quiet", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - start < 40


def test_rounds_end_a_run() -> None:
    """--rounds 3 makes three rounds."""
    done = perpkt("run", "rx/other-host", "--rounds", "3", "--quiet", "--format", "json")
    assert json.loads(done.stdout)["rounds"] == 3


def test_a_disk_that_fills_up_keeps_the_rounds_that_fitted(tmp_path: Path) -> None:
    """No room for another round: exit 8, the report of all rounds all the same, and a file that loads."""
    folder, kept = tmp_path / "small", tmp_path / "kept.json"
    folder.mkdir()
    run = f"{' '.join(PERPKT)} run rx/other-host --rounds 40 --quiet -o {folder}/r.json"
    script = f"mount -t tmpfs -o size=96k none {folder}; {run}; code=$?; cp {folder}/r.json {kept}; exit $code"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 8, done.stderr
    assert "40 rounds" in done.stdout
    assert len(done.stderr.strip().splitlines()) == 1
    assert 0 < len(load(kept).rounds) < 40


def test_a_run_that_was_stopped_and_continued_goes_on() -> None:
    """SIGSTOP and SIGCONT (Ctrl-Z and fg) cut calls of live frames short; they are made again, and all adds up."""
    words = [*PERPKT, "run", "ingress", "--time", "6", "--quiet", "--format", "json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        time.sleep(2.5)
        for _ in range(10):
            run.send_signal(signal.SIGSTOP)
            time.sleep(0.02)
            run.send_signal(signal.SIGCONT)
            time.sleep(0.1)
        out, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    assert all(sum(path["fate"].values()) == path["sent"] for path in json.loads(out)["paths"])


def test_nohup_is_heeded() -> None:
    """A run that was started with SIGHUP ignored goes on when the terminal goes."""
    words = ["nohup", *PERPKT, "run", "rx/other-host", "--time", "4", "--quiet", "--format", "json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        time.sleep(2)
        run.send_signal(signal.SIGHUP)
        out, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    assert json.loads(out)["rounds"] > 2


def test_two_threads_of_one_process_measure_at_once() -> None:
    """Two runs in one process do not take each other's namespaces."""
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda name: experiment.run(name, rounds=3), ["rx/other-host", "rx/ingress"]))
    assert [len(result.rounds) for result in results] == [3, 3]
    assert not [name for name, whose, _ in netns.named() if whose == owner.own()]
