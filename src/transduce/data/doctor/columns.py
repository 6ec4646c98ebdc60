"""The lengths of all pairs, for checks that judge them together."""

import numpy as np

from transduce.data.doctor.window import Ints, Window


class Columns:
    """Collects, window by window, the line of each pair and the characters on either side."""

    def __init__(self) -> None:
        self.windows: list[tuple[Ints, Ints, Ints]] = []

    def add(self, window: Window) -> None:
        lines = np.array(window.lines, dtype=np.int64)
        self.windows.append((lines, window.source.lengths, window.target.lengths))

    def whole(self) -> tuple[Ints, Ints, Ints]:
        """Lines, source lengths and target lengths of all pairs seen."""
        lines, source, target = (np.concatenate(column) for column in zip(*self.windows, strict=True))
        return lines, source, target
