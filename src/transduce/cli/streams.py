"""Lines in and out: as they come for a human, in windows for a file.

Under torchrun each process reads the same file, hence in windows that depend on no clock, and the first
alone writes.
"""

import errno
import os
import queue
import sys
import threading
from collections.abc import Iterator

from transduce.data.lines import STDIN
from transduce.errors import ConfigError

PAUSE = 0.02  # seconds without a new line after which those at hand are answered
TEAM = int(os.environ.get("WORLD_SIZE") or "1")  # processes that torchrun started
LEADS = TEAM == 1 or os.environ.get("RANK", "0") == "0"
WAKE = 0.5  # seconds after which a wait looks up, for a signal that another thread was given


def read_input(file: str) -> Iterator[list[str]]:
    """Groups of lines: whatever has arrived when the input pauses, or full ones for a team."""
    if TEAM > 1 and file == STDIN:
        raise ConfigError("expected a file, which every process of torchrun can read; got standard input")
    lines: queue.Queue[str | BaseException | None] = queue.Queue(maxsize=4096)
    threading.Thread(target=_pump, args=(file, lines), daemon=True).start()
    group, ended = [], False
    while not ended:
        try:
            item = lines.get(timeout=PAUSE if group and TEAM == 1 else WAKE)
        except queue.Empty:
            if TEAM > 1:
                continue
            item = ...
        if isinstance(item, str):
            group.append(item)
        ended = item is None or isinstance(item, BaseException)
        if group and (ended or item is ... or len(group) == lines.maxsize):
            yield group
            group = []
        if isinstance(item, BaseException):
            raise item


def _pump(file: str, lines: "queue.Queue[str | BaseException | None]") -> None:
    from transduce.data.lines import read_lines

    try:
        for line in read_lines(file):
            lines.put(line)
        lines.put(None)
    except Exception as error:  # noqa: BLE001 (whatever it is, whoever waits for lines must hear of it)
        lines.put(error)


def write_lines(lines: Iterator[str]) -> None:
    """Writes UTF-8 lines ended by LF as they come, and flushes, also where no more can be made."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "standard output is closed")
    try:
        for line in lines:
            sys.stdout.buffer.write(f"{line}\n".encode())
    finally:
        sys.stdout.buffer.flush()


def note(line: str) -> None:
    """Says something that is not a result."""
    if LEADS:
        print(f"transduce: {line}", file=sys.stderr, flush=True)


def silent(line: str) -> None:
    """Says nothing: `--quiet`."""
