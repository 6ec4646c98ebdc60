"""Ctrl-C, SIGTERM and SIGHUP as a wish to stop, granted at the next moment when nothing can be lost."""

import signal
import threading
from types import FrameType, TracebackType

HANGUP: int | None = getattr(signal, "SIGHUP", None)  # the terminal has gone; not known to Windows
SIGNALS = (signal.SIGINT, signal.SIGTERM) if HANGUP is None else (signal.SIGINT, signal.SIGTERM, HANGUP)


class StopRequest:
    """While entered, the first signal is remembered and the second acts as if this were not here.

    A hangup that is ignored, as under nohup, stays ignored.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._before = {}

    def __call__(self) -> bool:
        return self.received is not None

    @property
    def hung_up(self) -> bool:
        """Whether there may be nobody left to talk to."""
        return self.received is not None and self.received == HANGUP

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            heard = [number for number in SIGNALS if number != HANGUP or not is_ignored(number)]
            self._before = {number: signal.signal(number, self._remember) for number in heard}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def is_ignored(number: int) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN
