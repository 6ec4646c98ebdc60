"""What the output layer reads, against the formulas."""

import numpy as np
import pytest
import torch

from tests.helpers import doubled, numbers, same
from transduce.config import Spec
from transduce.layers.readouts import Readout


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)), dtype=torch.float64)


REST = draw(2, 4) - 1, draw(2, 2)  # the state before and the embedded symbol


def make(name: str) -> Readout:
    options = {"units": 6} if name == "maxout" else {}
    return doubled(Spec(Readout, name, options).build(4, 3, 2))


@pytest.mark.parametrize("name", list(Readout.family))
def test_all_positions_at_once_equal_each_alone(name: str) -> None:
    readout = make(name)
    given = draw(2, 5, 4), draw(2, 5, 3), draw(2, 5, 4) + 1, draw(2, 5, 2)
    features = readout(*given)
    assert features.shape == (2, 5, readout.width)
    for t in range(5):
        same(features[:, t], readout(*(leaf[:, t] for leaf in given)))


@pytest.mark.parametrize("name", list(Readout.family))
def test_state_and_context_both_matter(name: str) -> None:
    readout, hidden, context, *rest = make(name), draw(2, 4), draw(2, 3), *REST
    features = readout(hidden, context, *rest)
    if name == "maxout":
        assert not features.allclose(readout(hidden, context, rest[0] + 1, rest[1]))
        assert not features.allclose(readout(hidden, context, rest[0], rest[1] + 1))
    else:
        assert not features.allclose(readout(hidden + 1, context, *rest))
    assert features.allclose(readout(hidden, context + 1, *rest)) != readout.reads_context


def test_linear_is_state_and_context_side_by_side() -> None:
    readout, hidden, context = make("linear"), draw(2, 4), draw(2, 3)
    assert readout.width == 7
    np.testing.assert_array_equal(
        numbers(readout(hidden, context, *REST)), np.concatenate([numbers(hidden), numbers(context)], axis=1)
    )
    assert not list(readout.parameters())


def test_tanh_is_luongs_equation_5() -> None:
    readout, hidden, context = make("tanh"), draw(2, 4), draw(2, 3)
    assert readout.width == 4
    (weight,) = map(numbers, readout.parameters())  # W_c alone: no bias
    both = np.concatenate([numbers(context), numbers(hidden)], axis=1)
    np.testing.assert_allclose(
        numbers(readout(hidden, context, *REST)), np.tanh(both @ weight.T), rtol=1e-12, atol=1e-12
    )


def test_maxout_is_bahdanaus_deep_output() -> None:
    readout = make("maxout")
    (weight,) = map(numbers, readout.parameters())
    given = np.concatenate([numbers(REST[0]), numbers(REST[1]), numbers(draw(2, 3))], axis=1)
    pairs = (given @ weight.T).reshape(2, 6, 2)
    found = readout(draw(2, 4), draw(2, 3), *REST)
    np.testing.assert_allclose(numbers(found), pairs.max(axis=2), rtol=1e-12, atol=1e-12)
