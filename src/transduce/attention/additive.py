"""Additive attention."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from transduce.attention.base import Keys, ScoringAttention
from transduce.attention.normalizers import Normalizer
from transduce.attention.windows import Window
from transduce.config import Spec
from transduce.layers.activations import tanh_
from transduce.layers.checks import check_sizes


class AdditiveAttention(ScoringAttention, name="additive"):
    """vᵀ tanh(W s + U h) (Bahdanau et al. 2015, arXiv:1409.0473, appendix A.1.2); U h once per sentence."""

    def __init__(
        self,
        query_width: int,
        memory_width: int,
        *,
        units: int = 256,
        window: Spec[Window] = Spec(Window, "global"),
        normalizer: Spec[Normalizer] = Spec(Normalizer, "softmax"),
    ) -> None:
        check_sizes("attention 'additive'", units=units)
        super().__init__(query_width, memory_width, window, normalizer)
        self.query = nn.Linear(query_width, units, bias=False)
        self.key = nn.Linear(memory_width, units, bias=False)
        self.energy = nn.Linear(units, 1, bias=False)

    def keys(self, values: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Keys:
        return Keys(self.key(values).unsqueeze(1), values.unsqueeze(1))

    def score(self, query: Float[Tensor, "B Q D"], keys: Keys) -> Float[Tensor, "B H Q S"]:
        hidden = tanh_(self.query(query).unsqueeze(2) + keys.key)  # [B Q S units]
        return self.energy(hidden).squeeze(-1).unsqueeze(1)
