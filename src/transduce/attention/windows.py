"""Which source positions a target position may look at, and how much."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transduce.config import Component
from transduce.errors import ConfigError


class View(NamedTuple):
    """Positions allowed; a factor on their weights, if any, and whether weights then sum to 1 again."""

    allowed: Bool[Tensor, "B _ S"]
    factor: Float[Tensor, "B Q S"] | None = None
    renormalise: bool = True


class Window(Component, nn.Module, ABC):
    """Narrows the mask of real tokens for each target position."""

    @abstractmethod
    def forward(
        self, query: Float[Tensor, "B Q D"], mask: Bool[Tensor, "B S"], position: Int[Tensor, "B Q"]
    ) -> View: ...


class GlobalWindow(Window, name="global"):
    """Every real source token (Luong et al. 2015, §3.1)."""

    def __init__(self, query_width: int) -> None:
        super().__init__()

    def forward(
        self, query: Float[Tensor, "B Q D"], mask: Bool[Tensor, "B S"], position: Int[Tensor, "B Q"]
    ) -> View:
        return View(mask.unsqueeze(1))


class MonotonicWindow(Window, name="local_m"):
    """[p - D, p + D] around p = min(t, last real position) (Luong et al. 2015, §3.2, local-m)."""

    def __init__(self, query_width: int, *, radius: int = 10) -> None:
        super().__init__()
        self.radius = check_radius(radius)

    def forward(
        self, query: Float[Tensor, "B Q D"], mask: Bool[Tensor, "B S"], position: Int[Tensor, "B Q"]
    ) -> View:
        last = mask.sum(dim=1, keepdim=True) - 1
        return View(around(torch.minimum(position, last), self.radius, mask))


class PredictedWindow(Window, name="local_p"):
    """[p - D, p + D] around p = S · σ(vᵀ tanh(W s)), weights times exp(-(i - p)²/(2σ²)), σ = D/2.

    Luong et al. 2015, arXiv:1508.04025, eqs. 9 and 10 (local-p). S is the sentence's own length and p
    is not rounded. The weights then sum to at most 1, as in the paper, unless `renormalise`.
    """

    def __init__(self, query_width: int, *, radius: int = 10, renormalise: bool = False) -> None:
        super().__init__()
        self.radius, self.renormalise = check_radius(radius), renormalise
        self.hidden = nn.Linear(query_width, query_width, bias=False)
        self.place = nn.Linear(query_width, 1, bias=False)

    def forward(
        self, query: Float[Tensor, "B Q D"], mask: Bool[Tensor, "B S"], position: Int[Tensor, "B Q"]
    ) -> View:
        share = torch.sigmoid(self.place(torch.tanh(self.hidden(query)))).squeeze(-1)  # [B Q]
        centre = mask.sum(dim=1, keepdim=True) * share
        distance = torch.arange(mask.shape[1], device=mask.device) - centre.unsqueeze(-1)
        factor = torch.exp(-(distance**2) / (2 * (self.radius / 2) ** 2))
        return View(around(centre, self.radius, mask), factor, self.renormalise)


def around(centre: Tensor, radius: int, mask: Bool[Tensor, "B S"]) -> Bool[Tensor, "B Q S"]:
    """Real tokens at most `radius` from each centre [B Q], which may lie between positions."""
    distance = torch.arange(mask.shape[1], device=mask.device) - centre.unsqueeze(-1)
    return (distance.abs() <= radius) & mask.unsqueeze(1)


def check_radius(radius: int) -> int:
    if radius < 1:
        raise ConfigError(f"window.radius: expected at least 1; got {radius}")
    return radius
