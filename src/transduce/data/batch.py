"""Batches: padded ids and their masks."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.data.index import Index
from transduce.types import BOS, EOS, PAD, Source, check_source

Sequences = Sequence[Sequence[int]]


class Batch(NamedTuple):
    """One update's pairs: target [A, B, EOS] has decoder input [BOS, A, B].

    `alignment` has, for each target token, weights over the source tokens that it was written for: they sum
    to 1, or are all 0 where nothing is known.
    """

    source: Source
    inputs: Int[Tensor, "B T"]
    target: Int[Tensor, "B T"]
    target_mask: Bool[Tensor, "B T"]
    alignment: Float[Tensor, "B T S"] | None = None


def pad(sequences: Sequences) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Ids padded on the right with PAD, and the mask of the real ones."""
    lengths = np.array([len(sequence) for sequence in sequences])
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    padded = np.full(mask.shape, PAD, dtype=np.int64)
    padded[mask] = np.concatenate([np.asarray(sequence, dtype=np.int64) for sequence in sequences])
    return torch.from_numpy(padded), torch.from_numpy(mask)


def source_batch(sequences: Iterable[Sequence[int]], *, eos: bool) -> Source:
    """A source of these id sequences, each ended by EOS if `eos`. Raises ValueError for an empty one."""
    return check_source(Source(*pad([[*sequence, EOS] if eos else sequence for sequence in sequences])))


def pair_batch(index: Index, rows: Iterable[int], *, source_eos: bool) -> Batch:
    """The batch of these pairs of an index."""
    rows = list(rows)
    sides = ([side.row(row).tolist() for row in rows] for side in index)
    return batch_of(*sides, source_eos=source_eos)


def batch_of(sources: Sequences, targets: Sequences, *, source_eos: bool) -> Batch:
    """The batch of these source and target ids, without specials. Raises ValueError for an empty source."""
    inputs, mask = pad([[BOS, *target] for target in targets])
    target, _ = pad([[*target, EOS] for target in targets])
    return Batch(source_batch(sources, eos=source_eos), inputs, target, mask)
