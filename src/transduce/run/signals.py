"""Ctrl-C and SIGTERM as a wish to stop, granted at the next moment when nothing can be lost."""

import signal
import threading
from types import FrameType, TracebackType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """While entered, the first signal is remembered and the second acts as if this were not here."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._before = {}

    def __call__(self) -> bool:
        return self.received is not None

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._remember) for number in SIGNALS}
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
