"""Signals as a wish to stop."""

import os
import signal
import threading

import pytest

from transduce.run.signals import SIGNALS, StopRequest


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_is_remembered_and_the_second_acts_as_ever(number):
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
