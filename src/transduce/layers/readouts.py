"""What the output layer reads: the decoder's state and the context made into one vector."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.config import Component


class Readout(Component, nn.Module, ABC):
    """Combines a decoder state of width D and a context of width C into `width` features."""

    width: int

    @abstractmethod
    def forward(
        self, hidden: Float[Tensor, "*batch D"], context: Float[Tensor, "*batch C"]
    ) -> Float[Tensor, "*batch R"]: ...


class LinearReadout(Readout, name="linear"):
    """[s; c] as it is, so that the output layer alone weighs them."""

    def __init__(self, hidden_width: int, context_width: int) -> None:
        super().__init__()
        self.width = hidden_width + context_width

    def forward(
        self, hidden: Float[Tensor, "*batch D"], context: Float[Tensor, "*batch C"]
    ) -> Float[Tensor, "*batch R"]:
        return torch.cat([hidden, context], dim=-1)


class TanhReadout(Readout, name="tanh"):
    """s̃ = tanh(W_c [c; s]) (Luong et al. 2015, arXiv:1508.04025, eq. 5)."""

    def __init__(self, hidden_width: int, context_width: int) -> None:
        super().__init__()
        self.width = hidden_width
        self.combine = nn.Linear(context_width + hidden_width, hidden_width, bias=False)

    def forward(
        self, hidden: Float[Tensor, "*batch D"], context: Float[Tensor, "*batch C"]
    ) -> Float[Tensor, "*batch R"]:
        return torch.tanh(self.combine(torch.cat([context, hidden], dim=-1)))
