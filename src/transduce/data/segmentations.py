"""Training texts that are segmented anew each time they come."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from transduce.data.index import Ragged
from transduce.tokenizers import Tokenizer
from transduce.types import UNK


class Segmentations(NamedTuple):
    """The ids that the rows of one side are trained on in an epoch: a pure function of (seed, epoch, row).

    An index holds what `encode` gives; its text comes back by decoding. A row with an unknown symbol, whose
    text cannot come back, keeps its ids.
    """

    tokenizer: Tokenizer
    seed: int
    side: str  # "source" or "target", so that both draw other numbers

    def of(self, ragged: Ragged, rows: Sequence[int], epoch: int) -> list[list[int]]:
        """The ids of these rows, as an index has them where the tokenizer draws none."""
        encoded = [ragged.row(row).tolist() for row in rows]
        if self.tokenizer.sampler is None:
            return encoded
        return [self._drawn(ids, epoch, row) for ids, row in zip(encoded, rows, strict=True)]

    def _drawn(self, ids: list[int], epoch: int, row: int) -> list[int]:
        if UNK in ids:
            return ids
        random = Random(f"{self.seed} {epoch} {row} {self.side}")
        return self.tokenizer.sample(self.tokenizer.decode(ids), random)
