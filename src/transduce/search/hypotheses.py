"""The values that a search moves: hypotheses, and what is asked of each sentence."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class Asked(NamedTuple):
    """What is asked of each sentence of a batch, in ids; -1 fills up what is shorter."""

    line: Int[Tensor, " B"]  # its place in the whole input
    length: Int[Tensor, " B"]  # source symbols, EOS aside
    prefix: Int[Tensor, "B P"]  # how it begins
    phrases: Int[Tensor, "B C M"]  # what it holds, filled up on the right
    banned: Int[Tensor, "B E M"]  # what it lacks, filled up on the left

    @classmethod
    def nothing(cls, length: Int[Tensor, " B"]) -> "Asked":
        """Plain sentences of these lengths."""
        none = length.new_zeros(len(length), 0)
        none_of_none = none.unsqueeze(-1)
        return cls(torch.arange(len(length), device=length.device), length, none, none_of_none, none_of_none)


class Beam(NamedTuple):
    """K active hypotheses a sentence; a score of -inf is an empty place.

    It begins as `copies` hypotheses, widens with the choices there are, and never narrows.
    """

    score: Float[Tensor, "B K"]  # what ranks it, before any length penalty; float64
    log_prob: Float[Tensor, "B K"]  # the model's own sum
    tokens: Int[Tensor, "B K T"]  # BOS and all that followed
    coverage: Float[Tensor, "B K S"]  # attention each source token has had, padding's is 1; S = 0: not kept
    asked: Asked

    @property
    def token(self) -> Int[Tensor, "B K"]:
        """The last one."""
        return self.tokens[..., -1]


class Growth(NamedTuple):
    """The next beam of K, and the scores with which the J hypotheses of this one end (-inf: they do not)."""

    parent: Int[Tensor, "B K"]
    token: Int[Tensor, "B K"]
    score: Float[Tensor, "B K"]
    completions: Float[Tensor, "B J"]
