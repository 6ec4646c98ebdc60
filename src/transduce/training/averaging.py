"""The exponential moving average of the parameters."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn


class MovingAverage:
    """Follows the parameters slowly: after each update a ← d·a + (1 - d)·p (Polyak and Juditsky 1992).

    It is what dev scores are made with and what is kept as the best model; training itself never sees it.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.values = {name: p.detach().clone() for name, p in model.named_parameters()}
        self._move = get_ema_multi_avg_fn(decay)

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Takes in the parameters after one update."""
        self._move(list(self.values.values()), list(model.parameters()), 1)

    def restart(self, model: nn.Module) -> None:
        """Begins anew from the parameters as they are."""
        self.load({name: parameter.detach() for name, parameter in model.named_parameters()})

    def load(self, values: dict[str, Tensor]) -> None:
        """Goes on from saved values."""
        for name, value in self.values.items():
            value.copy_(values[name])

    @contextmanager
    def applied(self, model: nn.Module) -> Iterator[None]:
        """While entered, the model's parameters are the average."""
        parameters = dict(model.named_parameters())
        own = {name: parameter.data for name, parameter in parameters.items()}
        for name, parameter in parameters.items():
            parameter.data = self.values[name]
        try:
            yield
        finally:
            for name, parameter in parameters.items():
                parameter.data = own[name]
