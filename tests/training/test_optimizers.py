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


def test_adam_hands_over_to_sgd_even_where_a_run_goes_on():
    """Three updates of Adam, then SGD; saved and loaded at every point it is the same."""
    options = {"lr": 0.1, "updates": 3, "sgd_lr": 0.02}
    parameter, plain = (nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64)) for _ in range(2))
    optimizer, adam = build("adam_then_sgd", parameter, **options), torch.optim.Adam([plain], lr=0.1)
    for made in range(6):
        for each in (parameter, plain):
            each.grad = 2 * each.detach()
        before, saved = parameter.detach().clone(), optimizer.state_dict()
        optimizer = build("adam_then_sgd", parameter, **options)
        optimizer.load_state_dict(saved)
        optimizer.step()
        if made < 3:
            adam.step()
            assert parameter.equal(plain)
        else:
            torch.testing.assert_close(parameter.detach(), before - 0.02 * 2 * before)
            assert not optimizer.state_dict()["state"]  # nothing of Adam is kept, or saved


def test_a_schedule_lowers_both_rates_of_the_handover():
    parameter = nn.Parameter(torch.tensor([1.0]))
    optimizer = build("adam_then_sgd", parameter, lr=0.1, updates=0, sgd_lr=0.5)
    optimizer.param_groups[0]["lr"] = 0.05
    parameter.grad = torch.tensor([1.0])
    optimizer.step()
    assert parameter.item() == pytest.approx(0.75)
