"""Signals that are looked at where work may stop."""

import os
import signal
import threading
import time

import pytest

from stoker.cli.interruption import Interruption


def test_nothing_came() -> None:
    with Interruption() as interruption:
        interruption.wait(0)
        assert not interruption
        assert interruption.exit_code == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_counts(number: signal.Signals, code: int) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Interruption() as interruption:
        os.kill(os.getpid(), number)
        assert interruption
        assert (interruption.count, interruption.exit_code) == (1, code)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_who_waits_is_woken_and_nobody_waits_afterwards() -> None:
    with Interruption() as interruption:
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        begun = time.monotonic()
        interruption.wait(60)
        interruption.wait(60)
        assert time.monotonic() - begun < 30
        timer.join()


def test_waiting_for_input() -> None:
    reader, writer = os.pipe()
    try:
        with Interruption() as interruption:
            assert not interruption.wait_until_readable(reader, 0)
            os.write(writer, b"x")
            assert interruption.wait_until_readable(reader, 60)
            os.kill(os.getpid(), signal.SIGINT)
            assert not interruption.wait_until_readable(reader, 60)
    finally:
        os.close(reader)
        os.close(writer)


def test_the_third_signal_is_not_looked_at_but_felt() -> None:
    with Interruption() as interruption:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        assert interruption.count == 2
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
