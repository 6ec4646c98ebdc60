"""Which source positions a target position may look at."""

from abc import ABC, abstractmethod

from jaxtyping import Bool, Int
from torch import Tensor, nn

from transduce.config import Component


class Window(Component, nn.Module, ABC):
    """Narrows the mask of real tokens for each target position."""

    @abstractmethod
    def forward(self, mask: Bool[Tensor, "B S"], position: Int[Tensor, "B Q"]) -> Bool[Tensor, "B _ S"]: ...


class GlobalWindow(Window, name="global"):
    """Every real source token (Luong et al. 2015, §3.1)."""

    def forward(self, mask: Bool[Tensor, "B S"], position: Int[Tensor, "B Q"]) -> Bool[Tensor, "B _ S"]:
        return mask.unsqueeze(1)
