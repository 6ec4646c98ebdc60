"""Dot-product attention."""

import math

from jaxtyping import Bool, Float
from torch import Tensor

from transduce.attention.base import Keys, ScoringAttention, require_equal
from transduce.attention.normalizers import Normalizer
from transduce.attention.windows import Window
from transduce.config import Spec


class DotAttention(ScoringAttention, name="dot"):
    """sᵀ h (Luong et al. 2015, arXiv:1508.04025, eq. 8), or sᵀ h / √d with `scaled`; equal widths."""

    def __init__(
        self,
        query_width: int,
        memory_width: int,
        *,
        scaled: bool = False,
        window: Spec[Window] = Spec(Window, "global"),
        normalizer: Spec[Normalizer] = Spec(Normalizer, "softmax"),
    ) -> None:
        require_equal("dot", query_width, memory_width)
        super().__init__(query_width, memory_width, window, normalizer)
        self.scale = 1.0 / math.sqrt(memory_width) if scaled else 1.0

    def keys(self, values: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Keys:
        values = values.unsqueeze(1)
        return Keys(values, values)

    def score(self, query: Float[Tensor, "B Q D"], keys: Keys) -> Float[Tensor, "B H Q S"]:
        return (query * self.scale).unsqueeze(1) @ keys.key.mT
