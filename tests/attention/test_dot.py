"""Dot-product attention against its formula and the worked numbers."""

import math

import numpy as np
import pytest
import torch

from tests.helpers import numbers, softmax
from transduce.attention import Attended
from transduce.attention.dot import DotAttention
from transduce.errors import ConfigError


def attend(attention: DotAttention, query: torch.Tensor, values: torch.Tensor) -> Attended:
    mask = torch.ones(values.shape[:2], dtype=torch.bool)
    position = torch.zeros(query.shape[:2], dtype=torch.long)
    return attention(query, attention.project(values, mask), mask, position, ())


def test_the_worked_numbers() -> None:
    """Scores (0, ln 3) give weights (1/4, 3/4)."""
    query = torch.tensor([[[1.0, 0.0]]], dtype=torch.float64)
    values = torch.tensor([[[0.0, 2.0], [math.log(3), 6.0]]], dtype=torch.float64)
    context, weights, _ = attend(DotAttention(2, 2), query, values)
    np.testing.assert_allclose(numbers(weights).ravel(), [0.25, 0.75], rtol=1e-12)
    np.testing.assert_allclose(numbers(context).ravel(), [0.75 * math.log(3), 5.0], rtol=1e-12)


@pytest.mark.parametrize("scaled", [False, True])
def test_the_formula(scaled: bool) -> None:
    """sᵀ h, or sᵀ h / √d."""
    generator = torch.Generator().manual_seed(2)
    query = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64)
    values = torch.randn(2, 4, 5, generator=generator, dtype=torch.float64)
    context, weights, _ = attend(DotAttention(5, 5, scaled=scaled), query, values)
    for b in range(2):
        scores = numbers(query)[b] @ numbers(values)[b].T / (math.sqrt(5) if scaled else 1)
        alpha = softmax(scores)
        np.testing.assert_allclose(numbers(weights)[b, 0], alpha, rtol=1e-10)
        np.testing.assert_allclose(numbers(context)[b], alpha @ numbers(values)[b], rtol=1e-10, atol=1e-12)


def test_it_has_nothing_to_learn() -> None:
    assert not list(DotAttention(5, 5).parameters())


@pytest.mark.parametrize("widths", [(6, 4), (4, 6)])
def test_unequal_widths_are_refused_naming_both(widths: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match=rf"decoder width {widths[0]} and encoder width {widths[1]}"):
        DotAttention(*widths)
