"""The decoder contract: everything a search or a trainer may ask of one."""

from abc import ABC, abstractmethod
from typing import Any

from jaxtyping import Int
from torch import Tensor, nn

from transduce.config import Component
from transduce.layers.embedding import Embedding
from transduce.types import Encoded, Output, Source


class Decoder(Component, nn.Module, ABC):
    """`forward` equals `step` applied left to right.

    `init` parts what is constant for a sentence (memory, B rows) from what changes with each token
    (state, N = B·K rows), so that K hypotheses of a sentence share one memory and a search moves
    state alone. `attends` says whether weights tell what of the source was read.
    """

    embedding: Embedding
    attends: bool = True

    @abstractmethod
    def init(self, source: Source, encoded: Encoded) -> tuple[Any, Any]:
        """Returns (memory, state), nested tuples of batch-first tensors, with N = B."""

    @abstractmethod
    def step(
        self, memory: Any, state: Any, token: Int[Tensor, " N"], *, weights: bool = False
    ) -> tuple[Any, Output]:
        """Reads one token per hypothesis; gives the next state and an output [N V]."""

    @abstractmethod
    def forward(
        self, source: Source, encoded: Encoded, tokens: Int[Tensor, "B T"], *, weights: bool = False
    ) -> Output:
        """Teacher forcing: the outputs [B T V] after each prefix of `tokens`, which begin with BOS."""
