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


class AdamW(OptimizerSettings, name="adamw"):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019, arXiv:1711.05101)."""

    def __init__(
        self,
        *,
        lr: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        for name, value in {"lr": lr, "epsilon": epsilon, "weight_decay": weight_decay}.items():
            check_range(name, value)
        check_range("beta1", beta1, below=1.0)
        check_range("beta2", beta2, below=1.0)
        self.options = {"lr": lr, "betas": (beta1, beta2), "eps": epsilon, "weight_decay": weight_decay}

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(parameters, fused=True, **self.options)


class Adadelta(OptimizerSettings, name="adadelta"):
    """Adadelta (Zeiler 2012, arXiv:1212.5701), with the ρ and ε of Bahdanau et al. 2015."""

    def __init__(self, *, lr: float = 1.0, rho: float = 0.95, epsilon: float = 1e-6) -> None:
        check_range("lr", lr)
        check_range("rho", rho, below=1.0)
        check_range("epsilon", epsilon)
        self.lr, self.rho, self.epsilon = lr, rho, epsilon

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.Adadelta(parameters, lr=self.lr, rho=self.rho, eps=self.epsilon)


class Adagrad(OptimizerSettings, name="adagrad"):
    """Adagrad (Duchi et al. 2011); See et al. 2017 start its sums at .1 with a rate of .15."""

    def __init__(self, *, lr: float = 0.01, initial: float = 0.0, epsilon: float = 1e-10) -> None:
        for name, value in {"lr": lr, "initial": initial, "epsilon": epsilon}.items():
            check_range(name, value)
        self.lr, self.initial, self.epsilon = lr, initial, epsilon

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.Adagrad(
            parameters, lr=self.lr, initial_accumulator_value=self.initial, eps=self.epsilon
        )


class AdamThenSgd(OptimizerSettings, name="adam_then_sgd"):
    """Adam for the first `updates`, then plain SGD at the rate `sgd_lr` (Wu et al. 2016, arXiv:1609.08144).

    A schedule's factor falls on either rate.
    """

    def __init__(self, *, lr: float = 2e-4, updates: int = 60_000, sgd_lr: float = 0.5) -> None:
        for name, value in {"lr": lr, "updates": updates, "sgd_lr": sgd_lr}.items():
            check_range(name, float(value))
        self.lr, self.updates, self.sgd_lr = lr, updates, sgd_lr

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return Handover(parameters, self.lr, self.updates, self.sgd_lr)


class Handover(torch.optim.Optimizer):
    """Adam, until it has made `updates` of them; then parameters move by their gradients alone."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, updates: int, sgd_lr: float) -> None:
        adam = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "amsgrad": False, "maximize": False}
        super().__init__(parameters, {"lr": lr, "made": 0, **adam})
        self.adam = torch.optim.Adam(self.param_groups)
        self.updates, self.ratio = updates, sgd_lr / lr if lr else 0.0

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.param_groups[0]["made"] < self.updates:
            self.adam.param_groups, self.adam.state = self.param_groups, self.state  # as they were loaded
            self.adam.step()
        else:
            self.state.clear()
            self._descend()
        for group in self.param_groups:
            group["made"] += 1

    def _descend(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.sub_(parameter.grad, alpha=group["lr"] * self.ratio)
