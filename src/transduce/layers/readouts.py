"""What the output layer reads: the decoder's state and the context made into one vector."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.config import Component
from transduce.layers.activations import tanh
from transduce.layers.checks import check_sizes


class Readout(Component, nn.Module, ABC):
    """Combines what a position knows into `width` features.

    That is the decoder's state s_t, the context c_t, the state before, s_{t-1}, and the embedded symbol
    that was read, E y_{t-1}; most readouts use the first two.
    """

    width: int
    reads_context: ClassVar[bool] = True

    @abstractmethod
    def forward(
        self,
        hidden: Float[Tensor, "*batch D"],
        context: Float[Tensor, "*batch C"],
        previous: Float[Tensor, "*batch D"],
        embedded: Float[Tensor, "*batch E"],
    ) -> Float[Tensor, "*batch R"]: ...


class LinearReadout(Readout, name="linear"):
    """[s; c] as it is, so that the output layer alone weighs them."""

    def __init__(self, hidden_width: int, context_width: int, embedding_width: int) -> None:
        super().__init__()
        self.width = hidden_width + context_width

    def forward(
        self,
        hidden: Float[Tensor, "*batch D"],
        context: Float[Tensor, "*batch C"],
        previous: Float[Tensor, "*batch D"],
        embedded: Float[Tensor, "*batch E"],
    ) -> Float[Tensor, "*batch R"]:
        return torch.cat([hidden, context], dim=-1)


class StateReadout(Readout, name="state"):
    """s as it is: the context counts only as far as it was fed to the layers (Wu et al. 2016)."""

    reads_context = False

    def __init__(self, hidden_width: int, context_width: int, embedding_width: int) -> None:
        super().__init__()
        self.width = hidden_width

    def forward(
        self,
        hidden: Float[Tensor, "*batch D"],
        context: Float[Tensor, "*batch C"],
        previous: Float[Tensor, "*batch D"],
        embedded: Float[Tensor, "*batch E"],
    ) -> Float[Tensor, "*batch R"]:
        return hidden


class TanhReadout(Readout, name="tanh"):
    """s̃ = tanh(W_c [c; s]) (Luong et al. 2015, arXiv:1508.04025, eq. 5)."""

    def __init__(self, hidden_width: int, context_width: int, embedding_width: int) -> None:
        super().__init__()
        self.width = hidden_width
        self.combine = nn.Linear(context_width + hidden_width, hidden_width, bias=False)

    def forward(
        self,
        hidden: Float[Tensor, "*batch D"],
        context: Float[Tensor, "*batch C"],
        previous: Float[Tensor, "*batch D"],
        embedded: Float[Tensor, "*batch E"],
    ) -> Float[Tensor, "*batch R"]:
        return tanh(self.combine(torch.cat([context, hidden], dim=-1)))


class MaxoutReadout(Readout, name="maxout"):
    """The greater of each two of U s_{t-1} + V E y_{t-1} + C c_t (Bahdanau et al. 2015, A.2.2).

    It reads the state *before* this step; `units` is the number of features, each the best of two.
    """

    def __init__(
        self, hidden_width: int, context_width: int, embedding_width: int, *, units: int = 500
    ) -> None:
        super().__init__()
        check_sizes("readout", units=units)
        self.width = units
        self.combine = nn.Linear(hidden_width + embedding_width + context_width, 2 * units, bias=False)

    def forward(
        self,
        hidden: Float[Tensor, "*batch D"],
        context: Float[Tensor, "*batch C"],
        previous: Float[Tensor, "*batch D"],
        embedded: Float[Tensor, "*batch E"],
    ) -> Float[Tensor, "*batch R"]:
        both = self.combine(torch.cat([previous, embedded, context], dim=-1))
        return both.unflatten(-1, (self.width, 2)).amax(dim=-1)
