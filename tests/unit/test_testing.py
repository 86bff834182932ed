"""testing: the shipped samples."""

from __future__ import annotations

import subprocess
import sys

from perpkt.testing import SAMPLE_COSTS_NS, sample_result


def test_same_every_time() -> None:
    """A sample is the same each time, and another with another seed."""
    assert sample_result() == sample_result()
    assert sample_result() != sample_result(seed=2)


def test_accounted_for() -> None:
    """Every packet of every call has a fate, and each path runs in each round."""
    result = sample_result(rounds=4, testbeds=3)
    assert all(sum(call.fate.values()) == call.sent for call in result.calls)
    assert all({call.path for call in calls} == set(SAMPLE_COSTS_NS) for calls in result.rounds)
    assert {call.testbed for call in result.calls} == {0, 1, 2}


def test_needs_no_numpy() -> None:
    """The module and a sample result need no numpy."""
    code = "import sys; sys.modules['numpy'] = None; from perpkt.testing import sample_result; sample_result()"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
