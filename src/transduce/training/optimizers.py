"""Optimizers, by name."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

import torch
from torch import nn

from transduce.config import Component


class OptimizerSettings(Component, ABC):
    """Makes a torch optimizer for a model's parameters."""

    @abstractmethod
    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer: ...


class Adam(OptimizerSettings, name="adam"):
    """Adam (Kingma and Ba 2015, arXiv:1412.6980)."""

    def __init__(
        self, *, lr: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8
    ) -> None:
        self.lr, self.betas, self.epsilon = lr, (beta1, beta2), epsilon

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.Adam(parameters, lr=self.lr, betas=self.betas, eps=self.epsilon, fused=True)


class Sgd(OptimizerSettings, name="sgd"):
    """Plain stochastic gradient descent."""

    def __init__(self, *, lr: float = 1.0) -> None:
        self.lr = lr

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.SGD(parameters, lr=self.lr)
