"""The order of training: batches of similar length, a pure function of (seed, epoch)."""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transduce.data.curriculum import Course
from transduce.data.permutation import Permutation

Rows = NDArray[np.int64]
Lengths = Callable[[Rows], tuple[Rows, Rows]]  # of the sources and the targets of some rows
WINDOW = 200  # batches shuffled among themselves
SORTED = 100  # batches sorted by length among themselves: at most so many, and at most half a window


class Span(NamedTuple):
    """The rows of one corpus, and how often an epoch takes each of them."""

    start: int
    pairs: int
    weight: float = 1.0

    @property
    def taken(self) -> int:
        """Rows an epoch takes."""
        return max(1, round(self.pairs * self.weight))

    def rows(self, places: Rows, epoch: int, seed: int) -> Rows:
        """The rows at these places of an epoch: what one epoch leaves out is the next one's beginning."""
        found = (places + epoch * self.taken) % self.pairs
        if self.taken % self.pairs:  # some rows come more often than others: then from all over the corpus
            found = Permutation(self.pairs, [seed, self.start])(found)
        return self.start + found


class BatchSampler:
    """Cuts an epoch into batches of `pairs` pairs, or of at most `tokens` padded target tokens.

    Rows are shuffled one by one: corpora are often sorted, and their neighbours alike. The shuffle is taken
    a window at a time. A window's rows are parted in groups, each group is sorted by length and cut, and the
    batches are shuffled: little padding, other batches in each epoch, no order that a model could learn, and
    nothing that grows with the number of pairs. A `course` admits only short pairs in the windows of early
    epochs, and leaves the others out of them.
    """

    def __init__(
        self,
        spans: Sequence[Span],
        lengths: Lengths,
        *,
        pairs: int | None,
        tokens: int | None,
        seed: int,
        course: Course | None = None,
    ) -> None:
        self.spans, self.lengths = [span for span in spans if span.pairs], lengths
        self.pairs, self.tokens, self.seed, self.course = pairs, tokens, seed, course
        self.ends = np.cumsum([span.taken for span in self.spans])
        self.total = int(self.ends[-1]) if len(self.ends) else 0
        self.per_batch = self.pairs or max(1, int((self.tokens or 1) / self._mean_length()))
        self.window = WINDOW * self.per_batch  # rows

    def _mean_length(self) -> float:
        """Target tokens of a pair, EOS in, by some pairs."""
        some = self._rows(Permutation(self.total, [self.seed])(np.arange(min(self.total, 4096))), 0)
        return float(self.lengths(some)[1].mean()) + 1 if len(some) else 1.0

    @property
    def per_epoch(self) -> int:
        """Batches of a whole epoch: by count exactly, by tokens as the first window of the first tells."""
        if self.pairs:
            return math.ceil(self.total / self.pairs)
        window = next(self._windows(0), None)
        if window is None:
            return 0
        return max(1, round(len(self._cut(window)) * self.total / len(window)))

    def batches(self, epoch: int, position: int = 0) -> Iterator[Rows]:
        """The rows of each batch of an epoch from the one at `position` on; each pair stands in one.

        But for those that the course of a curriculum does not admit yet, which stand in none.
        """
        for number, window in enumerate(self._admitted(epoch)):
            count = math.ceil(len(window) / self.pairs) if self.pairs else None
            if count is not None and position >= count:
                position -= count
                continue
            batches = self._cut(window)
            order = np.random.default_rng([self.seed, epoch, 2, number]).permutation(len(batches))
            yield from (batches[place] for place in order[position:])
            position = max(0, position - len(batches))

    def _admitted(self, epoch: int) -> Iterator[Rows]:
        """What each window of an epoch holds, longer pairs than its limit aside."""
        windows = math.ceil(self.total / self.window)
        per_window = self.total / self.per_batch / max(1, windows)
        limits = self.course.limits(epoch, windows, per_window) if self.course else repeat(None)
        for window, limit in zip(self._windows(epoch), limits, strict=False):
            yield window if limit is None else window[sum(self.lengths(window)) <= limit]

    def _windows(self, epoch: int) -> Iterator[Rows]:
        """The rows of an epoch, shuffled, a window at a time."""
        shuffle = Permutation(self.total, [self.seed, epoch])
        for number, start in enumerate(range(0, self.total, self.window)):
            places = shuffle(np.arange(start, min(start + self.window, self.total)))
            rows = self._rows(np.sort(places), epoch)  # in the order of the file, for whoever reads it
            yield np.random.default_rng([self.seed, epoch, 1, number]).permutation(rows)

    def _rows(self, places: Rows, epoch: int) -> Rows:
        """The rows that stand at these places of an epoch."""
        rows, owner = np.empty_like(places), np.searchsorted(self.ends, places, side="right")
        for number, span in enumerate(self.spans):
            own = owner == number
            rows[own] = span.rows(places[own] - (self.ends[number] - span.taken), epoch, self.seed)
        return rows

    def _cut(self, window: Rows) -> list[Rows]:
        batches = math.ceil(len(window) / self.per_batch)
        size = self.per_batch * min(SORTED, max(1, math.ceil(batches / 2)))
        groups = (window[start : start + size] for start in range(0, len(window), size))
        return [batch for group in groups for batch in self._cut_sorted(group)]

    def _cut_sorted(self, group: Rows) -> Iterator[Rows]:
        source, target = self.lengths(group)
        order = np.lexsort((source, target))
        rows, length, start = group[order], target[order] + 1, 0
        while start < len(rows):
            end = start + (self.pairs or self._fitting(length[start:]))
            yield rows[start:end]
            start = end

    def _fitting(self, length: Rows) -> int:
        """How many of these pairs, whose lengths rise, fit a batch: as wide as its last one, at least one."""
        counts = range(2, len(length) + 1)
        return 1 + bisect_right(counts, self.tokens or 0, key=lambda count: count * int(length[count - 1]))
