"""From scores to weights."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transduce.config import Component


class Normalizer(Component, nn.Module, ABC):
    """Turns scores into weights that sum to 1 where `mask` allows, exactly 0 elsewhere."""

    @abstractmethod
    def forward(
        self, scores: Float[Tensor, "B H Q S"], mask: Bool[Tensor, "B _ _ S"]
    ) -> Float[Tensor, "B H Q S"]: ...


class Softmax(Normalizer, name="softmax"):
    """exp(e) / Σ exp(e) over allowed positions; a row with none gives zeros, never NaN."""

    def forward(
        self, scores: Float[Tensor, "B H Q S"], mask: Bool[Tensor, "B _ _ S"]
    ) -> Float[Tensor, "B H Q S"]:
        lowest = torch.finfo(scores.dtype).min  # not -inf, whose softmax over an empty row is NaN
        return scores.masked_fill(~mask, lowest).softmax(dim=-1).masked_fill(~mask, 0.0)
