"""Signals as a wish to stop."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from transduce.run.signals import SIGNALS, StopRequest


@pytest.fixture
def hangup() -> Iterator[int]:
    """SIGHUP as it is without nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield signal.SIGHUP
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_is_remembered_and_the_second_acts_as_ever(number, hangup):
    before = [signal.getsignal(each) for each in SIGNALS]
    with StopRequest() as stop:
        assert not stop()
        assert [signal.getsignal(each) for each in SIGNALS] != before
        os.kill(os.getpid(), number)
        assert stop()
        assert stop.received == number
        assert [signal.getsignal(each) for each in SIGNALS] == before
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_handlers_come_back_after_an_error():
    before = [signal.getsignal(each) for each in SIGNALS]
    with pytest.raises(RuntimeError), StopRequest():
        raise RuntimeError
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_a_thread_cannot_be_signalled_and_is_left_alone():
    found: list[bool] = []

    def work() -> None:
        with StopRequest() as stop:
            found.append(stop())

    before = [signal.getsignal(each) for each in SIGNALS]
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False]
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_a_hangup_that_is_ignored_stays_ignored_as_under_nohup(hangup):
    signal.signal(hangup, signal.SIG_IGN)
    with StopRequest() as stop:
        os.kill(os.getpid(), hangup)
        assert not stop()
    assert signal.getsignal(hangup) is signal.SIG_IGN
