"""General attention."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from transduce.attention.base import Keys, ScoringAttention
from transduce.attention.normalizers import Normalizer
from transduce.attention.windows import Window
from transduce.config import Spec


class GeneralAttention(ScoringAttention, name="general"):
    """sᵀ W h (Luong et al. 2015, arXiv:1508.04025, eq. 8); W h once per sentence."""

    def __init__(
        self,
        query_width: int,
        memory_width: int,
        *,
        window: Spec[Window] = Spec(Window, "global"),
        normalizer: Spec[Normalizer] = Spec(Normalizer, "softmax"),
    ) -> None:
        super().__init__(query_width, memory_width, window, normalizer)
        self.key = nn.Linear(memory_width, query_width, bias=False)

    def keys(self, values: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Keys:
        return Keys(self.key(values).unsqueeze(1), values.unsqueeze(1))

    def score(self, query: Float[Tensor, "B Q D"], keys: Keys) -> Float[Tensor, "B H Q S"]:
        return query.unsqueeze(1) @ keys.key.mT
