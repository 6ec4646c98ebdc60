"""Short pairs first: which lengths an epoch admits (Platanios et al. 2019, arXiv:1903.09848)."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate, repeat

from pydantic import Field

from transduce.config import Settings


class Curriculum(Settings):
    """Early updates see the shortest pairs alone: a share `start` at first, all from update `updates` on.

    The length of a pair is that of its source and target tokens together, and the share grows as
    c(n) = √(n·(1 - start²) / updates + start²), the paper's square-root competence.
    """

    updates: int = Field(ge=1)
    start: float = Field(default=0.1, gt=0, le=1)

    def competence(self, update: float) -> float:
        """The share of the pairs that is admitted after so many updates."""
        past = min(1.0, update / self.updates)
        return math.sqrt(past * (1 - self.start**2) + self.start**2)


class Course:
    """A curriculum over pairs of known lengths: what each window of each epoch admits.

    An epoch passes over all windows of pairs, and of each takes those that are admitted when it is reached.
    How many updates went before is counted by the lengths of all pairs, not by what each window happened to
    hold: the course is a pure function of its settings, and can be entered at any epoch.
    """

    def __init__(self, curriculum: Curriculum, lengths: Mapping[int, int], accumulate_batches: int) -> None:
        """`lengths` says how many pairs have each length; an update takes `accumulate_batches` batches."""
        self.curriculum, self.per_update = curriculum, accumulate_batches
        self.lengths = sorted(lengths)
        counts = list(accumulate(lengths[length] for length in self.lengths))
        self.shares = [count / counts[-1] for count in counts]

    def limits(self, epoch: int, windows: int, batches: float) -> Iterator[int | None]:
        """The greatest length that each window of an epoch admits, without end; None: any.

        An epoch has so many `windows`, and a window so many `batches` where all is admitted.
        """
        made = 0
        for window in range((epoch + 1) * windows):
            place = self._place(made / self.per_update)
            if place is None:
                break
            if window >= epoch * windows:
                yield self.lengths[place]
            made += math.ceil(self.shares[place] * batches)
        yield from repeat(None)

    def _place(self, update: float) -> int | None:
        """Of the greatest length admitted after so many updates; None when the curriculum is over."""
        if update >= self.curriculum.updates:
            return None
        return bisect_left(self.shares, self.curriculum.competence(update))
