"""Optimizers by name, with their options and limits."""

import pytest
import torch
from torch import nn

from transduce.config import Spec
from transduce.errors import ConfigError
from transduce.training.optimizers import OptimizerSettings


def build(name: str, parameter: nn.Parameter, **options) -> torch.optim.Optimizer:
    return Spec(OptimizerSettings, name, options).build().build([parameter])


@pytest.mark.parametrize("name", list(OptimizerSettings.family))
def test_every_optimizer_goes_downhill_at_its_rate(name):
    parameter = nn.Parameter(torch.tensor([3.0]))
    optimizer = build(name, parameter, lr=0.5)
    assert optimizer.param_groups[0]["lr"] == 0.5
    for _ in range(20):
        optimizer.zero_grad()
        (parameter**2).sum().backward()
        optimizer.step()
    assert abs(parameter.item()) < (2.99 if name == "adadelta" else 2.0)  # whose first steps are tiny


def test_adam_is_adam():
    parameter = nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    optimizer = build("adam", parameter, lr=0.1, beta1=0.5, beta2=0.75, epsilon=0.01)
    first, second, value = 0.0, 0.0, 1.0
    for step in (1, 2, 3):
        gradient = 2 * value
        first, second = 0.5 * first + 0.5 * gradient, 0.75 * second + 0.25 * gradient**2
        corrected = (first / (1 - 0.5**step), second / (1 - 0.75**step))
        value -= 0.1 * corrected[0] / (corrected[1] ** 0.5 + 0.01)
        optimizer.zero_grad()
        (parameter**2).sum().backward()
        optimizer.step()
        assert parameter.item() == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("adam", {"lr": -1.0}, "train.optimizer.lr: expected at least 0 and below inf; got -1.0"),
        ("adam", {"lr": float("inf")}, "train.optimizer.lr"),
        ("adam", {"lr": float("nan")}, "train.optimizer.lr"),
        ("adam", {"beta1": 1.0}, "train.optimizer.beta1: expected at least 0 and below 1.0; got 1.0"),
        ("adam", {"beta2": -0.1}, "train.optimizer.beta2"),
        ("adam", {"epsilon": -1.0}, "train.optimizer.epsilon"),
        ("sgd", {"lr": -0.1}, "train.optimizer.lr"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(name, options, message):
    with pytest.raises(ConfigError) as caught:
        Spec(OptimizerSettings, name, options).build()
    assert str(caught.value).startswith(message)
