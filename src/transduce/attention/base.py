"""The attention contract, and the template of every mechanism that scores, normalises and mixes."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transduce.attention.normalizers import Normalizer
from transduce.attention.windows import Window
from transduce.config import Component, Spec
from transduce.errors import ConfigError, ModelError


class Keys(NamedTuple):
    """Encoder states made ready once per sentence: what queries are compared with, what is mixed."""

    key: Float[Tensor, "B H S K"]
    value: Float[Tensor, "B H S C"]


class Attended(NamedTuple):
    context: Float[Tensor, "B Q C"]
    weights: Float[Tensor, "B H Q S"]
    state: Any


class Attention(Component, nn.Module, ABC):
    """Reads encoder states of width `memory_width` with queries of width `query_width`.

    Weights sum to 1 over a sentence's real tokens and are exactly 0 on padding; a sentence without
    any gives zeros. `parallel` says whether all target positions can be read at once, `attends` whether
    weights tell what of the source was read.
    """

    parallel: ClassVar[bool] = True
    attends: ClassVar[bool] = True
    context_width: int

    @abstractmethod
    def project(
        self,
        values: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "B S"],
        final: Float[Tensor, "B D"] | None = None,
    ) -> Keys:
        """What does not depend on the query, once per sentence. Raises ValueError for NaN or bad shapes.

        `final` is the encoder's top layer after the whole sentence, for a mechanism that reads it.
        """

    @abstractmethod
    def start(self, keys: Keys, queries: int) -> Any:
        """The state before the first position: nested tuples of [B Q …], empty for most mechanisms."""

    @abstractmethod
    def forward(
        self,
        query: Float[Tensor, "B Q D"],
        keys: Keys,
        mask: Bool[Tensor, "B S"],
        position: Int[Tensor, "B Q"],
        state: Any,
    ) -> Attended: ...


class ScoringAttention(Attention):
    """Scores every encoder state, normalises the scores over the window, and averages the values."""

    def __init__(
        self, query_width: int, context_width: int, window: Spec[Window], normalizer: Spec[Normalizer]
    ) -> None:
        super().__init__()
        self.context_width = context_width
        self.window = window.build(query_width)
        self.normalizer = normalizer.build()
        self.combine: nn.Module = nn.Identity()

    @abstractmethod
    def keys(self, values: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Keys: ...

    @abstractmethod
    def score(self, query: Float[Tensor, "B Q D"], keys: Keys) -> Float[Tensor, "B H Q S"]: ...

    def project(
        self,
        values: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "B S"],
        final: Float[Tensor, "B D"] | None = None,
    ) -> Keys:
        check_memory(values, mask)
        return self.keys(values, mask)

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
        view = self.window(query, mask, position)
        weights = self.normalizer(self.score(query, keys), view.allowed.unsqueeze(1))  # [B H Q S]
        if view.factor is not None:
            weights = weights * view.factor.unsqueeze(1)
            weights = normalised(weights) if view.renormalise else weights
        context = weights @ keys.value  # [B H Q C/H]
        combined = self.combine(context.transpose(1, 2).flatten(2))
        empty = ~mask.any(dim=1)[:, None, None]  # what `combine` adds must not reach a sentence of nothing
        return Attended(combined.masked_fill(empty, 0.0), weights, state)


def normalised(weights: Float[Tensor, "B H Q S"]) -> Float[Tensor, "B H Q S"]:
    """Weights that sum to 1 again; rows of zeros stay so."""
    total = weights.sum(dim=-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1.0)


def check_memory(values: Tensor, mask: Tensor) -> None:
    """Refuses encoder states that a mask cannot make safe."""
    if values.dim() != 3 or mask.shape != values.shape[:2] or str(mask.dtype) != "torch.bool":
        raise ValueError(
            f"attention: expected encoder states [B S D] and a bool mask [B S], True at real tokens; "
            f"got {tuple(values.shape)} and {mask.dtype} {tuple(mask.shape)}"
        )
    if torch.compiler.is_exporting():  # a graph of tensors has no numbers to look at
        return
    if not values.isfinite().all():
        raise ModelError("attention: encoder states hold NaN or infinity; a mask does not make them safe")


def check_query(query: Tensor, mask: Tensor) -> None:
    if query.dim() != 3 or len(query) != len(mask):
        raise ValueError(
            f"attention: expected queries [B Q D] for the mask's {len(mask)} sentences; "
            f"got {tuple(query.shape)}"
        )


def require_equal(name: str, query_width: int, memory_width: int) -> None:
    """Refuses a mechanism that compares vectors of different widths."""
    if query_width != memory_width:
        raise ConfigError(
            f"attention {name!r}: expected equal widths; got decoder width {query_width} and "
            f"encoder width {memory_width}; use 'general' or 'additive', or change a width"
        )
