"""Multi-head attention."""

import math

from jaxtyping import Bool, Float
from torch import Tensor, nn

from transduce.attention.base import Keys, ScoringAttention
from transduce.attention.normalizers import Normalizer
from transduce.attention.windows import Window
from transduce.config import Spec
from transduce.errors import ConfigError


class MultiHeadAttention(ScoringAttention, name="multihead"):
    """(Q s)ᵀ(K h)/√d_head in each of `heads` subspaces (Vaswani et al. 2017, arXiv:1706.03762, §3.2.2).

    Values are projected, heads concatenated, and the result projected once more to the query's width.
    """

    def __init__(
        self,
        query_width: int,
        memory_width: int,
        *,
        heads: int = 4,
        window: Spec[Window] = Spec(Window, "global"),
        normalizer: Spec[Normalizer] = Spec(Normalizer, "softmax"),
    ) -> None:
        if heads < 1 or query_width % heads:
            raise ConfigError(
                f"attention 'multihead': expected a width divisible by heads; got width {query_width} "
                f"and heads {heads}"
            )
        super().__init__(query_width, query_width, window, normalizer)
        self.heads = heads
        self.scale = 1.0 / math.sqrt(query_width // heads)
        self.query = nn.Linear(query_width, query_width)
        self.key = nn.Linear(memory_width, query_width)
        self.value = nn.Linear(memory_width, query_width)
        self.combine = nn.Linear(query_width, query_width)

    def keys(self, values: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Keys:
        return Keys(self._split(self.key(values)), self._split(self.value(values)))

    def score(self, query: Float[Tensor, "B Q D"], keys: Keys) -> Float[Tensor, "B H Q S"]:
        return (self._split(self.query(query)) * self.scale) @ keys.key.mT

    def _split(self, x: Float[Tensor, "B S D"]) -> Float[Tensor, "B H S d"]:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
