"""Optimizers, by name."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable

import torch
from torch import nn

from transduce.config import Component
from transduce.errors import ConfigError


class OptimizerSettings(Component, ABC):
    """Makes a torch optimizer for a model's parameters."""

    @abstractmethod
    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer: ...


def check_range(name: str, value: float, below: float = math.inf) -> None:
    """Refuses a setting that is not in [0, `below`)."""
    if not 0 <= value < below:
        raise ConfigError(f"train.optimizer.{name}: expected at least 0 and below {below}; got {value}")


class Adam(OptimizerSettings, name="adam"):
    """Adam (Kingma and Ba 2015, arXiv:1412.6980)."""

    def __init__(
        self, *, lr: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8
    ) -> None:
        check_range("lr", lr)
        check_range("beta1", beta1, below=1.0)
        check_range("beta2", beta2, below=1.0)
        check_range("epsilon", epsilon)
        self.lr, self.betas, self.epsilon = lr, (beta1, beta2), epsilon

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.Adam(parameters, lr=self.lr, betas=self.betas, eps=self.epsilon, fused=True)


class Sgd(OptimizerSettings, name="sgd"):
    """Plain stochastic gradient descent."""

    def __init__(self, *, lr: float = 1.0) -> None:
        check_range("lr", lr)
        self.lr = lr

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.SGD(parameters, lr=self.lr)
