"""Noise on the symbols that a model learns from."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transduce.data.batch import Batch
from transduce.types import SPECIALS, UNK


def drop_words(batch: Batch, rate: float) -> Batch:
    """The batch with symbols that are read, not those to be written, turned into UNK at this rate.

    On the source as on the target side (Bowman et al. 2016, arXiv:1511.06349); special symbols stay.
    """
    if not rate:
        return batch
    source = batch.source._replace(tokens=_dropped(batch.source.tokens, rate))
    return batch._replace(source=source, inputs=_dropped(batch.inputs, rate))


def _dropped(tokens: Int[Tensor, "B T"], rate: float) -> Int[Tensor, "B T"]:
    chosen: Bool[Tensor, "B T"] = torch.rand(tokens.shape, device=tokens.device) < rate
    return tokens.masked_fill(chosen & (tokens >= SPECIALS), UNK)
