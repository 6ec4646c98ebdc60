"""No attention: the baseline."""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.attention.base import Attended, Attention, Keys, check_memory, check_query


class NoAttention(Attention, name="none"):
    """One fixed context at every step: the encoder's final state, of both directions where it reads in two.

    So Cho et al. 2014 (arXiv:1406.1078) gave the source to each decoder step. With `context: false` there
    is none, and the decoder has its initial state alone (Sutskever et al. 2014, arXiv:1409.3215). The
    weights are 1 at the last real token. Without a final state, that token's state stands for it.
    """

    attends = False

    def __init__(self, query_width: int, memory_width: int, *, context: bool = True) -> None:
        super().__init__()
        self.context_width = memory_width if context else 0

    def project(
        self,
        values: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "B S"],
        final: Float[Tensor, "B D"] | None = None,
    ) -> Keys:
        check_memory(values, mask)
        last = torch.arange(values.shape[1], device=mask.device) == mask.sum(dim=1, keepdim=True) - 1
        fixed = values if final is None else final.unsqueeze(1).expand_as(values)
        return Keys(last[:, None, :, None].to(values.dtype), fixed[:, None, :, : self.context_width])

    def start(self, keys: Keys, queries: int) -> tuple[()]:
        return ()

    def forward(
        self,
        query: Float[Tensor, "B Q D"],
        keys: Keys,
        mask: Bool[Tensor, "B S"],
        position: Int[Tensor, "B Q"],
        state: Any,
    ) -> Attended:
        check_query(query, mask)
        weights = keys.key.mT.expand(-1, -1, query.shape[1], -1)  # [B 1 Q S]
        return Attended((weights @ keys.value).squeeze(1), weights, state)
