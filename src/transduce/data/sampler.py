"""The order of training: batches of similar length, a pure function of (seed, epoch)."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
BLOCK = 100  # batches sorted by length among themselves


class BatchSampler:
    """Cuts an epoch into batches of `pairs` pairs, or of at most `tokens` padded target tokens.

    Pairs are shuffled, sorted by length within blocks of many batches, cut, and the batches shuffled:
    little padding, and no order that a model could learn.
    """

    def __init__(
        self, source: Rows, target: Rows, *, pairs: int | None, tokens: int | None, seed: int
    ) -> None:
        self.source, self.target = source, target
        self.pairs, self.tokens, self.seed = pairs, tokens, seed

    def epoch(self, epoch: int) -> list[Rows]:
        """The batches of one epoch; each pair stands in exactly one."""
        generator = np.random.default_rng([self.seed, epoch])
        order = generator.permutation(len(self.source))
        batches = [batch for block in self._blocks(order) for batch in self._cut(block)]
        return [batches[place] for place in generator.permutation(len(batches))]

    def _blocks(self, order: Rows) -> Iterator[Rows]:
        mean = max(1.0, float(self.target.mean()) + 1) if len(self.target) else 1.0
        per_batch = self.pairs or max(1, int((self.tokens or 1) / mean))
        size = BLOCK * per_batch
        for start in range(0, len(order), size):
            block = order[start : start + size]
            yield block[np.lexsort((self.source[block], self.target[block]))]

    def _cut(self, block: Rows) -> Iterator[Rows]:
        if self.pairs:
            yield from (block[start : start + self.pairs] for start in range(0, len(block), self.pairs))
            return
        start = 0
        for end in range(1, len(block) + 1):  # lengths rise, so the newest pair is the longest
            if end == len(block) or (end + 1 - start) * (self.target[block[end]] + 1) > (self.tokens or 0):
                yield block[start:end]
                start = end
