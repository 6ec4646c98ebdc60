"""What the output layer reads, against the formulas."""

import numpy as np
import pytest
import torch

from tests.helpers import doubled, numbers, same
from transduce.config import Spec
from transduce.layers.readouts import Readout


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)), dtype=torch.float64)


def make(name: str) -> Readout:
    return doubled(Spec(Readout, name).build(4, 3))


@pytest.mark.parametrize("name", list(Readout.family))
def test_all_positions_at_once_equal_each_alone(name: str) -> None:
    readout, hidden, context = make(name), draw(2, 5, 4), draw(2, 5, 3)
    features = readout(hidden, context)
    assert features.shape == (2, 5, readout.width)
    for t in range(5):
        same(features[:, t], readout(hidden[:, t], context[:, t]))


@pytest.mark.parametrize("name", list(Readout.family))
def test_state_and_context_both_matter(name: str) -> None:
    readout, hidden, context = make(name), draw(2, 4), draw(2, 3)
    features = readout(hidden, context)
    assert not features.allclose(readout(hidden + 1, context))
    assert not features.allclose(readout(hidden, context + 1))


def test_linear_is_state_and_context_side_by_side() -> None:
    readout, hidden, context = make("linear"), draw(2, 4), draw(2, 3)
    assert readout.width == 7
    np.testing.assert_array_equal(
        numbers(readout(hidden, context)), np.concatenate([numbers(hidden), numbers(context)], axis=1)
    )
    assert not list(readout.parameters())


def test_tanh_is_luongs_equation_5() -> None:
    readout, hidden, context = make("tanh"), draw(2, 4), draw(2, 3)
    assert readout.width == 4
    (weight,) = map(numbers, readout.parameters())  # W_c alone: no bias
    both = np.concatenate([numbers(context), numbers(hidden)], axis=1)
    np.testing.assert_allclose(
        numbers(readout(hidden, context)), np.tanh(both @ weight.T), rtol=1e-12, atol=1e-12
    )
