"""Location attention."""

import math
from typing import Literal

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.attention.base import Keys, ScoringAttention
from transduce.attention.normalizers import Normalizer
from transduce.attention.windows import Window
from transduce.config import Spec
from transduce.errors import ConfigError, DataError
from transduce.layers.checks import check_sizes


class LocationAttention(ScoringAttention, name="location"):
    """softmax(W s) over source positions, whatever stands there (Luong et al. 2015, eq. 11).

    W has a row for each of `max_source_length` positions. Longer sources are an error (`overflow:
    error`), or their further positions are never looked at (`ignore`, the paper's choice).
    """

    def __init__(
        self,
        query_width: int,
        memory_width: int,
        *,
        max_source_length: int = 100,
        overflow: Literal["error", "ignore"] = "error",
        window: Spec[Window] = Spec(Window, "global"),
        normalizer: Spec[Normalizer] = Spec(Normalizer, "softmax"),
    ) -> None:
        check_sizes("attention", max_source_length=max_source_length)
        if window.name != "global":
            raise ConfigError(f"attention 'location': expected window 'global'; got window {window.name!r}")
        super().__init__(query_width, memory_width, window, normalizer)
        self.overflow = overflow
        self.places = nn.Linear(query_width, max_source_length, bias=False)

    def keys(self, values: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Keys:
        longest = int(mask.sum(dim=1).max())
        if self.overflow == "error" and longest > self.places.out_features:
            raise DataError(
                f"attention 'location': expected sources of at most {self.places.out_features} tokens, "
                f"their end included where they have one; got "
                f"{longest}; raise attention.max_source_length before training, or set overflow: ignore"
            )
        values = values.unsqueeze(1)
        return Keys(values[..., :0], values)

    def score(self, query: Float[Tensor, "B Q D"], keys: Keys) -> Float[Tensor, "B H Q S"]:
        source = keys.value.shape[2]
        scores = self.places(query)[..., :source]
        return F.pad(scores, (0, source - scores.shape[-1]), value=-math.inf).unsqueeze(1)
