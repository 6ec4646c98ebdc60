"""BPE-dropout: merges that are left out at random."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from random import Random

NEVER = 1 << 62  # the rank of two neighbours that no merge joins


class MergeDropout:
    """Segmentations of BPE in which each merge that could be made is dropped with probability `rate`.

    At each step the dropped ones are drawn anew, and the first of the others is made; where all are dropped
    the word is done (Provilkov et al. 2020, arXiv:1910.13267, algorithm 1). `whole` gives the pieces of a
    word of which nothing is dropped.
    """

    def __init__(
        self, merges: Sequence[tuple[str, str]], rate: float, whole: Callable[[str], list[str]]
    ) -> None:
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.rate, self.whole = rate, whole

    def __call__(self, words: Sequence[str], random: Random) -> list[list[str]]:
        drops = Drops(self.rate, random)
        return [self._segment(word, drops) for word in words]

    def _segment(self, word: str, drops: "Drops") -> list[str]:
        pieces = self.whole(word)
        merges = len(word) - len(pieces)
        return pieces if drops.spare(merges) else merge(word, self.ranks, drops)


class Drops:
    """Coins that fall on "drop" with probability `rate`; only the distances between drops are drawn."""

    def __init__(self, rate: float, random: Random) -> None:
        self.scale, self.random = 1 / math.log1p(-rate), random.random
        self.left = self._distance()

    def __call__(self) -> bool:
        """The next coin."""
        if self.left:
            self.left -= 1
            return False
        self.left = self._distance()
        return True

    def spare(self, coins: int) -> bool:
        """Whether none of the next coins falls on "drop"; if so, they are used up."""
        spared = coins <= self.left
        self.left -= coins if spared else 0
        return spared

    def _distance(self) -> int:
        return int(math.log(1 - self.random()) * self.scale)


def merge(word: str, ranks: Mapping[tuple[str, str], int], drops: Callable[[], bool]) -> list[str]:
    """The pieces that are left when every merge that could still be made was dropped at once."""
    parts = list(word)
    order = [ranks.get(pair, NEVER) for pair in pairwise(parts)]
    while (place := first_kept(order, drops)) is not None:
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
        del order[place]
        for changed in range(max(0, place - 1), min(place + 1, len(order))):
            order[changed] = ranks.get((parts[changed], parts[changed + 1]), NEVER)
    return parts


def first_kept(order: list[int], drops: Callable[[], bool]) -> int | None:
    """The place of the earliest merge that is not dropped, of equals the leftmost."""
    while (rank := min(order, default=NEVER)) < NEVER:
        place = order.index(rank)
        if not drops():
            return place
        order = [*order[:place], NEVER, *order[place + 1 :]]
    return None
