"""The state of every optimizer, parted and put together again."""

import json

import pytest
import torch
from safetensors.torch import load, save
from torch import nn

from transduce.training.optimizer_state import flatten, unflatten
from transduce.training.optimizers import OptimizerSettings


def trained(name: str, updates: int) -> torch.optim.Optimizer:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    model[0].bias.requires_grad = False
    optimizer = OptimizerSettings.family[name]().build(model.parameters())
    for _ in range(updates):
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()
    return optimizer


@pytest.mark.parametrize("name", OptimizerSettings.family)
@pytest.mark.parametrize("updates", [0, 2])
def test_what_was_saved_fits_the_same_optimizer_also_where_a_parameter_is_not_trained(name, updates):
    tensors, rest = flatten(trained(name, updates).state_dict())
    tensors, rest = load(save(tensors)), json.loads(json.dumps(rest))
    again = trained(name, 0)
    again.load_state_dict(unflatten(tensors, rest, again))
    found, _ = flatten(again.state_dict())
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[key], tensors[key]) for key in tensors)


def test_the_state_of_another_optimizer_is_refused():
    tensors, rest = flatten(trained("adam", 2).state_dict())
    for other in ("sgd", "adagrad", "adadelta"):
        with pytest.raises(ValueError, match="expected one like"):
            unflatten(tensors, rest, trained(other, 0))
