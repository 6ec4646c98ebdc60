"""Some thousand pairs at a time, in the shapes that checks look at."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transduce.data.lines import is_blank
from transduce.data.pairs import Row

SIZE = 8192  # rows in a window

Ints = NDArray[np.int64]


class Side:
    """The texts of one side of a window, and all their characters end to end."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    @cached_property
    def joined(self) -> str:
        """The texts, each ended by LF, which none of them holds."""
        return "".join(f"{text}\n" for text in self.texts)

    @cached_property
    def codes(self) -> NDArray[np.uint32]:
        """The code points of `joined`."""
        return np.frombuffer(self.joined.encode("utf-32-le"), dtype=np.uint32)

    @cached_property
    def lengths(self) -> Ints:
        """Characters of each text."""
        return np.fromiter(map(len, self.texts), np.int64, len(self.texts))

    @cached_property
    def counts(self) -> Ints:
        """How often each code point stands in the texts, up to the highest of them."""
        counts = np.bincount(self.codes, minlength=ord("\n") + 1)
        counts[ord("\n")] -= len(self.texts)
        return counts

    @cached_property
    def present(self) -> list[str]:
        """Every character there is, once, in the order of code points."""
        return [chr(code) for code in np.flatnonzero(self.counts)]

    def rows_of(self, places: ArrayLike) -> Ints:
        """The row that each of these places in `joined` lies in."""
        ends = np.cumsum(self.lengths + 1)
        return np.searchsorted(ends, places, side="right")

    def rows_with(self, characters: Iterable[str]) -> Ints:
        """The rows that hold any of these characters, once for each time one stands there."""
        return self.rows_of(np.flatnonzero(np.isin(self.codes, [ord(one) for one in characters])))


class Window(NamedTuple):
    """Pairs with text on both sides, the lines they stand in, and the lines between that lack a side."""

    lines: list[int]
    source: Side
    target: Side
    blank: list[int]

    def at(self, rows: Ints) -> list[int]:
        """The lines of these rows, each once."""
        return [self.lines[row] for row in np.unique(rows).tolist()]

    @property
    def sides(self) -> tuple[tuple[str, Side], tuple[str, Side]]:
        return ("source", self.source), ("target", self.target)


def windows(rows: Iterable[Row]) -> Iterator[Window]:
    """Cuts rows into windows; only one is in memory at a time."""
    rows = iter(rows)
    while stretch := list(islice(rows, SIZE)):
        pairs = [row for row in stretch if not (is_blank(row.source) or is_blank(row.target))]
        kept = {row.line for row in pairs}
        yield Window(
            [row.line for row in pairs],
            Side([row.source for row in pairs]),
            Side([row.target for row in pairs]),
            [row.line for row in stretch if row.line not in kept],
        )
