"""Normalised additive attention against its formula."""

import math

import numpy as np
import torch

from tests.helpers import doubled, numbers, parameters, softmax
from transduce.attention.normalised_additive import NormalisedAdditiveAttention


def test_the_formula() -> None:
    """e_i = g vᵀ/‖v‖ tanh(W s + U h_i + b)."""
    attention = doubled(NormalisedAdditiveAttention(3, 4, units=5))
    with torch.no_grad():
        attention.bias.normal_(generator=torch.Generator().manual_seed(5))
    generator = torch.Generator().manual_seed(1)
    values = torch.randn(1, 6, 4, generator=generator, dtype=torch.float64)
    query = torch.randn(1, 3, 3, generator=generator, dtype=torch.float64)
    mask, position = torch.ones(1, 6, dtype=torch.bool), torch.zeros(1, 3, dtype=torch.long)
    _, weights, _ = attention(query, attention.project(values, mask), mask, position, ())
    p = parameters(attention)
    v = p["direction.weight"][0]
    for q in range(3):
        scores = [
            p["gain"]
            * (v / np.linalg.norm(v))
            @ np.tanh(p["query.weight"] @ numbers(query)[0, q] + p["key.weight"] @ h + p["bias"])
            for h in numbers(values)[0]
        ]
        np.testing.assert_allclose(numbers(weights)[0, 0, q], softmax(np.array(scores)), rtol=1e-10)


def test_it_starts_with_gain_one_over_root_units_and_no_bias() -> None:
    attention = NormalisedAdditiveAttention(3, 4, units=16)
    assert math.isclose(attention.gain.item(), 0.25)
    assert attention.bias.eq(0).all()


def test_only_the_direction_of_v_matters() -> None:
    attention = doubled(NormalisedAdditiveAttention(3, 4, units=5))
    values, mask = torch.randn(1, 6, 4, dtype=torch.float64), torch.ones(1, 6, dtype=torch.bool)
    query, position = torch.randn(1, 1, 3, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.long)
    before = attention(query, attention.project(values, mask), mask, position, ()).weights
    attention.direction.weight.data *= 7.0
    torch.testing.assert_close(
        attention(query, attention.project(values, mask), mask, position, ()).weights, before
    )
