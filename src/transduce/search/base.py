"""The search contract: how a beam grows by one token."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.config import Component, Settings
from transduce.errors import ConfigError
from transduce.search.penalties import LengthPenalty


class Beam(NamedTuple):
    """K active hypotheses a sentence, best first; a score of -inf is an empty place.

    It begins as one hypothesis, widens with the choices there are, and never narrows.
    """

    score: Float[Tensor, "B K"]  # summed log-probability, float64
    token: Int[Tensor, "B K"]  # the last one
    extra: tuple[Any, ...] = ()  # a search's own, [B K …], selected with the parents


class Growth(NamedTuple):
    """The next beam of K, and the sums with which the J hypotheses of this one end (-inf: they do not)."""

    parent: Int[Tensor, "B K"]
    token: Int[Tensor, "B K"]
    score: Float[Tensor, "B K"]
    completions: Float[Tensor, "B J"]
    extra: tuple[Any, ...] = ()


class MaxLength(Settings):
    """At most ratio · source tokens + plus target symbols, EOS aside; source EOS not counted."""

    ratio: float = 2.0
    plus: int = 50

    def of(self, lengths: Int[Tensor, " B"]) -> Int[Tensor, " B"]:
        return (lengths.double() * self.ratio).floor().long().add(self.plus).clamp(min=1)


class Search(Component, ABC):
    """Chooses how each beam grows; knows neither model nor loop."""

    width: int
    n_best: int
    length_penalty: LengthPenalty
    max_length: MaxLength

    @abstractmethod
    def grow(self, beam: Beam, log_probs: Float[Tensor, "B J V"], eos: int) -> Growth: ...


def check_search(width: int, n_best: int, max_length: MaxLength) -> None:
    """Refuses sizes and pairs of options that cannot work, before any model runs."""
    for name, value in {"width": width, "n_best": n_best}.items():
        if value < 1:
            raise ConfigError(f"search.{name}: expected at least 1; got {value}")
    if n_best > width:
        raise ConfigError(
            f"search: expected n_best at most width (the beam); got n_best {n_best}, width {width}"
        )
    if not 0 <= max_length.ratio < float("inf") or max_length.ratio + max_length.plus < 1:
        raise ConfigError(
            f"search.max_length: expected ratio at least 0 and room for one symbol; "
            f"got ratio {max_length.ratio}, plus {max_length.plus}"
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
