"""Additive attention against its formula."""

import numpy as np
import pytest
import torch

from tests.helpers import doubled, numbers, parameters, softmax
from transduce.attention.additive import AdditiveAttention
from transduce.errors import ConfigError


def test_the_formula() -> None:
    """α = softmax(vᵀ tanh(W s + U h_i)) and c = Σ α_i h_i, one query and one sentence at a time."""
    attention = doubled(AdditiveAttention(3, 4, units=5))
    generator = torch.Generator().manual_seed(1)
    values = torch.randn(2, 6, 4, generator=generator, dtype=torch.float64)
    query = torch.randn(2, 3, 3, generator=generator, dtype=torch.float64)
    mask = torch.arange(6) < torch.tensor([6, 2]).unsqueeze(1)
    keys = attention.project(values, mask)
    context, weights, _ = attention(query, keys, mask, torch.zeros(2, 3, dtype=torch.long), ())
    p = parameters(attention)
    assert sorted(p) == ["energy.weight", "key.weight", "query.weight"]  # no biases in the paper
    for b, length in enumerate((6, 2)):
        h = numbers(values)[b, :length]
        for q in range(3):
            s = numbers(query)[b, q]
            scores = [
                p["energy.weight"][0] @ np.tanh(p["query.weight"] @ s + p["key.weight"] @ h_i) for h_i in h
            ]
            alpha = softmax(np.array(scores))
            np.testing.assert_allclose(numbers(weights)[b, 0, q, :length], alpha, rtol=1e-10)
            np.testing.assert_allclose(numbers(context)[b, q], alpha @ h, rtol=1e-10, atol=1e-12)


def test_the_worked_shapes() -> None:
    """Queries of 256, memory of 512, two sentences of 9 and 6 tokens."""
    torch.manual_seed(0)
    attention = AdditiveAttention(256, 512)
    values, query = torch.randn(2, 9, 512), torch.randn(2, 1, 256)
    mask = torch.arange(9) < torch.tensor([9, 6]).unsqueeze(1)
    keys = attention.project(values, mask)
    context, weights, _ = attention(query, keys, mask, torch.zeros(2, 1, dtype=torch.long), ())
    assert context[:, 0].shape == (2, 512)
    assert weights[:, 0, 0].shape == (2, 9)
    torch.testing.assert_close(weights[:, 0, 0].sum(dim=1), torch.ones(2))
    assert weights[1, 0, 0, 6:].eq(0).all()


def test_the_key_projection_is_not_repeated_for_each_query() -> None:
    attention, calls = doubled(AdditiveAttention(3, 4, units=5)), []
    attention.key.register_forward_hook(lambda *_: calls.append(1))
    values, mask = torch.ones(1, 2, 4, dtype=torch.float64), torch.ones(1, 2, dtype=torch.bool)
    keys = attention.project(values, mask)
    for t in range(3):
        attention(torch.ones(1, 1, 3, dtype=torch.float64), keys, mask, torch.full((1, 1), t), ())
    assert len(calls) == 1


@pytest.mark.parametrize("units", [0, -1])
def test_units_below_one_are_refused(units: int) -> None:
    with pytest.raises(ConfigError, match=rf"'additive'\.units: expected at least 1; got {units}"):
        AdditiveAttention(3, 4, units=units)
