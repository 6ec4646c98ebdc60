"""The encoder contract."""

from abc import ABC, abstractmethod

from torch import nn

from transduce.config import Component
from transduce.layers.embedding import Embedding
from transduce.types import Encoded, Shape, Source


class Encoder(Component, nn.Module, ABC):
    """Turns a source into states; more padding, or other sentences beside it, change nothing."""

    shape: Shape
    embedding: Embedding

    @abstractmethod
    def forward(self, source: Source) -> Encoded: ...
