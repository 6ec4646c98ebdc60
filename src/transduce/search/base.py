"""The search contract: how a beam grows by one token."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.config import Component
from transduce.errors import ConfigError
from transduce.search.hypotheses import Beam, Growth
from transduce.search.penalties import LengthPenalty
from transduce.search.rules import MaxLength, Rules

WIDEST = 10_000  # hypotheses of a sentence


class Search(Component, ABC):
    """Chooses how each beam grows; knows neither model nor loop.

    `independent` says that every hypothesis is a result, rather than a rival of the others; `passed_over` is
    what a trace says of tokens that were allowed and not chosen.
    """

    independent: ClassVar[bool]
    passed_over: ClassVar[str]
    width: int
    copies: int  # hypotheses to begin with
    n_best: int
    kept: int  # results to keep of each sentence, of which the n best are given
    texts_differ: bool  # whether these must be different texts, not only different tokens
    length_penalty: LengthPenalty
    coverage_penalty: float
    max_length: MaxLength
    rules: Rules

    @abstractmethod
    def grow(self, beam: Beam, values: Float[Tensor, "B J V"], eos: int) -> Growth:
        """`values` are log-probabilities, as rules may have changed them."""

    @abstractmethod
    def results(self, beam: Beam, score: Float[Tensor, "B K"]) -> Float[Tensor, "B K"]:
        """These scores, but -inf for hypotheses that may not be results, as they stand."""

    @abstractmethod
    def check_phrases(self) -> None:
        """Refuses phrases that outputs must hold, where the search cannot promise them."""


def check_sizes(width: int, n_best: int) -> None:
    """Refuses sizes and pairs of options that cannot work, before any model runs."""
    for name, value in {"n_best": n_best, "width": width}.items():
        if value < 1:
            raise ConfigError(f"search.{name}: expected at least 1; got {value}")
        if value > WIDEST:
            raise ConfigError(f"search.{name}: expected at most {WIDEST:,}; got {value}")
    if n_best > width:
        raise ConfigError(
            f"search: expected n_best at most width (the beam); got n_best {n_best}, width {width}"
        )


def best(
    values: Float[Tensor, "*batch V"], count: int
) -> tuple[Float[Tensor, "*batch C"], Int[Tensor, "*batch C"]]:
    """The `count` greatest values, greatest first; among equals the earlier place wins."""
    if count == 1:  # torch promises the first of equal maxima, and nothing of the kind for topk
        top, index = values.max(dim=-1, keepdim=True)
        return top, index
    place = near(values, count)
    top, at = values.gather(-1, place).sort(dim=-1, descending=True, stable=True)
    return top[..., :count], place.gather(-1, at[..., :count])


def near(values: Float[Tensor, "*batch V"], count: int) -> Int[Tensor, "*batch C"]:
    """Places, ascending, that hold the `count` greatest values: all, or the blocks with the greatest maxima.

    That is exact: any value of another block comes after the maximum of each of the `count` chosen ones.
    """
    size = values.shape[-1]
    block = 8 if size < 4096 else 32
    blocks = size // block
    place = torch.arange(size, device=values.device)
    if blocks <= 2 * count:
        return place.expand(values.shape)
    maxima = values[..., : blocks * block].unflatten(-1, (blocks, block)).amax(dim=-1)
    chosen = best(maxima, count)[1].sort(dim=-1)[0]
    inside = (chosen.unsqueeze(-1) * block + place[:block]).flatten(-2)
    rest = place[blocks * block :].expand(*inside.shape[:-1], -1)
    return torch.cat([inside, rest], dim=-1)
