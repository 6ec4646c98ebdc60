"""Normalised additive attention."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transduce.attention.base import Keys, ScoringAttention
from transduce.attention.normalizers import Normalizer
from transduce.attention.windows import Window
from transduce.config import Spec
from transduce.layers.activations import tanh_
from transduce.layers.checks import check_sizes


class NormalisedAdditiveAttention(ScoringAttention, name="normalised_additive"):
    """g · v/‖v‖ · tanh(W s + U h + b): additive attention with a weight-normalised energy.

    Weight normalisation is that of Salimans and Kingma 2016, arXiv:1602.07868. g starts at √(1/units),
    b at 0.
    """

    def __init__(
        self,
        query_width: int,
        memory_width: int,
        *,
        units: int = 256,
        window: Spec[Window] = Spec(Window, "global"),
        normalizer: Spec[Normalizer] = Spec(Normalizer, "softmax"),
    ) -> None:
        check_sizes("attention", units=units)
        super().__init__(query_width, memory_width, window, normalizer)
        self.query = nn.Linear(query_width, units, bias=False)
        self.key = nn.Linear(memory_width, units, bias=False)
        self.direction = nn.Linear(units, 1, bias=False)
        self.gain = nn.Parameter(torch.tensor(math.sqrt(1.0 / units)))
        self.bias = nn.Parameter(torch.zeros(units))

    def keys(self, values: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Keys:
        return Keys((self.key(values) + self.bias).unsqueeze(1), values.unsqueeze(1))

    def score(self, query: Float[Tensor, "B Q D"], keys: Keys) -> Float[Tensor, "B H Q S"]:
        hidden = tanh_(self.query(query).unsqueeze(2) + keys.key)  # [B Q S units]
        energy = self.gain * self.direction(hidden) / self.direction.weight.norm()
        return energy.squeeze(-1).unsqueeze(1)
