"""Signals are acted on where nothing is half done."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from perpkt.kernel import signals


def test_a_signal_waits_for_a_check() -> None:
    """Within the block SIGINT raises nothing where it arrives, and KeyboardInterrupt at the next check."""
    reached: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        _interrupt_and_check(reached)
    assert reached == ["after the signal"]


def _interrupt_and_check(reached: list[str]) -> None:
    with signals.deferred():
        os.kill(os.getpid(), signal.SIGINT)
        reached.append("after the signal")
        signals.check()
        reached.append("after the check")


def test_the_third_signal_does_not_wait() -> None:
    """A run that hangs can be ended: the third signal that was not acted on raises at once."""
    with pytest.raises(KeyboardInterrupt):
        _insist(3)


def _insist(times: int) -> None:
    with signals.deferred():
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)


def test_a_signal_without_a_check_is_acted_on_at_the_end() -> None:
    """None is lost: the block's end is a check too."""
    with pytest.raises(KeyboardInterrupt), signals.deferred():
        os.kill(os.getpid(), signal.SIGINT)


def test_handlers_are_as_before() -> None:
    """After the block, also after one that was interrupted, each signal has its own handler again."""
    before = [signal.getsignal(number) for number in signals.ENDING]
    with pytest.raises(KeyboardInterrupt), signals.deferred():
        os.kill(os.getpid(), signal.SIGINT)
    assert [signal.getsignal(number) for number in signals.ENDING] == before


def test_an_ignored_signal_stays_ignored() -> None:
    """A run in the background of a shell without job control ignores SIGINT, as it was told to."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with signals.deferred():
            os.kill(os.getpid(), signal.SIGINT)
            signals.check()
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_error_is_not_masked() -> None:
    """An error that ends the block is what is raised, though a signal is noted too."""
    with pytest.raises(ValueError, match="first"):
        _interrupt_and_fail()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _interrupt_and_fail() -> None:
    with signals.deferred():
        os.kill(os.getpid(), signal.SIGINT)
        raise ValueError("first")


def test_another_thread_changes_nothing() -> None:
    """In a thread that may not set handlers the block and its checks do nothing."""
    done: list[bool] = []

    def run() -> None:
        with signals.deferred():
            signals.check()
            done.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert done == [True]
