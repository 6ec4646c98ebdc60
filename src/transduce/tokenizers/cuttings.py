"""Subword regularisation: cuttings drawn by their probability."""

import math
from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate
from random import Random
from typing import NamedTuple

from pydantic import Field

from transduce.config import Settings

CACHED = 20_000  # words whose ways are remembered


class UnigramSampling(Settings):
    """Draws segmentations x in training with P(x)^α / Σ P^α, over all that there are (the paper's l → ∞).

    0 makes all equally probable, 1 keeps the model's own probabilities, more prefers the best one.
    """

    alpha: float = Field(default=0.1, ge=0, le=100)


class Ways(NamedTuple):
    """How a cutting may come to one place: where its last piece starts, and running sums of their shares."""

    starts: list[int]
    sums: list[float]


class Cuttings:
    """Cuttings of words, drawn in proportion to Π p(piece)^α (Kudo 2018, arXiv:1804.10959, §3.2).

    The sums over all cuttings of a word's beginnings go from left to right, once for each word; then pieces
    are drawn from right to left (forward filtering, backward sampling).
    """

    def __init__(self, scores: Mapping[str, float], alpha: float) -> None:
        self.scores = {piece: alpha * score for piece, score in scores.items()}
        self.longest = max(map(len, scores), default=0)
        self.remembered: dict[str, list[Ways]] = {}

    def __call__(self, words: Sequence[str], random: Random) -> list[list[str]]:
        return [self.draw(word, random) for word in words]

    def draw(self, word: str, random: Random) -> list[str]:
        """The pieces of one cutting. Every character of the word must be a piece."""
        ways, pieces, end = self.remembered.get(word) or self._ways(word), [], len(word)
        while end:
            starts, sums = ways[end]
            start = starts[bisect(sums, random.random() * sums[-1], hi=len(sums) - 1)]
            pieces.append(word[start:end])
            end = start
        return pieces[::-1]

    def _ways(self, word: str) -> list[Ways]:
        before, ways = [0.0], [Ways([], [])]  # before: log Σ over the cuttings of a beginning
        for end in range(1, len(word) + 1):
            first = max(0, end - self.longest)
            found = {
                start: before[start] + self.scores[piece]
                for start in range(first, end)
                if (piece := word[start:end]) in self.scores
            }
            most = max(found.values())
            sums = list(accumulate(math.exp(log - most) for log in found.values()))
            before.append(most + math.log(sums[-1]))
            ways.append(Ways(list(found), sums))
        if len(self.remembered) >= CACHED:
            self.remembered = {}
        self.remembered[word] = ways
        return ways
