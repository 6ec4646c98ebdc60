"""Encoded pairs in flat arrays: what batches are cut from."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transduce.data.pairs import Pair
from transduce.tokenizers import Tokenizer

Ids = NDArray[np.int32]


class Ragged(NamedTuple):
    """Sequences of ids end to end; sequence i is ids[starts[i] : starts[i + 1]]."""

    ids: Ids
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, sequences: Iterable[Sequence[int]]) -> "Ragged":
        rows = [np.asarray(sequence, dtype=np.int32) for sequence in sequences]
        starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return cls(np.concatenate([*rows, np.zeros(0, np.int32)]), starts)

    def row(self, index: int) -> Ids:
        return self.ids[self.starts[index] : self.starts[index + 1]]

    def lengths_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many ids these sequences have."""
        return self.starts[rows + 1] - self.starts[rows]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts)


class Index(NamedTuple):
    """The encoded source and target sides of some pairs, without specials."""

    source: Ragged
    target: Ragged

    def __len__(self) -> int:  # pairs, not fields
        return len(self.source.starts) - 1


def encode_pairs(pairs: Sequence[Pair], source: Tokenizer, target: Tokenizer) -> Index:
    """Encodes both sides once, for all epochs."""
    return Index(
        Ragged.of(source.encode(pair.source).ids for pair in pairs),
        Ragged.of(target.encode(pair.target).ids for pair in pairs),
    )
