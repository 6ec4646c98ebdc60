"""From scores to weights: known values, masks, and rows with nothing to look at."""

import math

import numpy as np
import pytest
import torch

from tests.helpers import numbers, same, softmax
from transduce.attention.normalizers import Normalizer, Softmax
from transduce.config import Spec

every_normalizer = pytest.mark.parametrize("name", list(Normalizer.family))


def scores(dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0), dtype=dtype) * 3


def mask() -> torch.Tensor:
    return (torch.arange(5) < torch.tensor([3, 5]).unsqueeze(1))[:, None, None]


def test_softmax_gives_the_worked_numbers() -> None:
    given = torch.tensor([0.0, math.log(3)]).reshape(1, 1, 1, 2)
    weights = Softmax()(given, torch.ones(1, 1, 1, 2, dtype=torch.bool))
    torch.testing.assert_close(weights.flatten(), torch.tensor([0.25, 0.75]))
    values = torch.tensor([[2.0], [6.0]])
    torch.testing.assert_close((weights @ values).flatten(), torch.tensor([5.0]))


def test_softmax_is_exp_over_the_sum_of_exps_of_the_allowed() -> None:
    weights = numbers(Softmax()(scores(), mask()))
    np.testing.assert_allclose(weights[0, ..., :3], softmax(numbers(scores())[0, ..., :3]), rtol=1e-12)
    np.testing.assert_allclose(weights[1], softmax(numbers(scores())[1]), rtol=1e-12)


@every_normalizer
def test_weights_sum_to_one_where_allowed_and_are_exactly_zero_elsewhere(name: str) -> None:
    weights = Spec(Normalizer, name).build()(scores(), mask())
    same(weights.sum(dim=-1), torch.ones(2, 3, 4, dtype=torch.float64))
    assert weights.ge(0).all()
    assert weights[0, ..., 3:].eq(0).all()


@every_normalizer
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_a_row_without_anything_allowed_gives_zeros_and_a_finite_gradient(
    name: str, dtype: torch.dtype
) -> None:
    given = scores(dtype).requires_grad_()
    allowed = mask().clone()
    allowed[0] = False
    weights = Spec(Normalizer, name).build()(given, allowed)
    assert weights[0].eq(0).all()
    assert weights.isfinite().all()
    weights.square().sum().backward()
    assert given.grad.isfinite().all()
    assert given.grad[0].eq(0).all()


@every_normalizer
@pytest.mark.parametrize("shift", [-1e4, 1e4])
def test_a_shift_of_all_scores_changes_nothing(name: str, shift: float) -> None:
    normalizer = Spec(Normalizer, name).build()
    torch.testing.assert_close(normalizer(scores() + shift, mask()), normalizer(scores(), mask()))


@every_normalizer
def test_a_masked_score_however_great_has_no_part(name: str) -> None:
    normalizer = Spec(Normalizer, name).build()
    great = scores().masked_fill(~mask(), 1e30)
    same(normalizer(great, mask()), normalizer(scores(), mask()))


@every_normalizer
def test_great_scores_stay_finite(name: str) -> None:
    weights = Spec(Normalizer, name).build()(scores(torch.float32) * 1e30, mask())
    assert weights.isfinite().all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 3, 4))
