"""General, concat and location attention against their formulas (Luong et al. 2015)."""

import numpy as np
import pytest
import torch

from tests.helpers import doubled, numbers, parameters, softmax
from transduce.attention.base import Attention
from transduce.attention.concat import ConcatAttention
from transduce.attention.general import GeneralAttention
from transduce.attention.location import LocationAttention
from transduce.attention.windows import Window
from transduce.config import Spec
from transduce.errors import ConfigError, DataError

LENGTHS = (6, 2)
MASK = torch.arange(6) < torch.tensor(LENGTHS).unsqueeze(1)
GENERATOR = torch.Generator().manual_seed(1)
VALUES = torch.randn(2, 6, 4, generator=GENERATOR, dtype=torch.float64)
QUERY = torch.randn(2, 3, 3, generator=GENERATOR, dtype=torch.float64)
POSITION = torch.arange(3).expand(2, 3)


def check(attention: Attention, score, names: list[str]) -> None:
    """`score(parameters, s, h)` gives the scores of one query over one sentence's states."""
    p = parameters(attention)
    assert sorted(p) == names
    context, weights, _ = attention(QUERY, attention.project(VALUES, MASK), MASK, POSITION, ())
    for b, length in enumerate(LENGTHS):
        h = numbers(VALUES)[b, :length]
        for q in range(3):
            alpha = softmax(np.array(score(p, numbers(QUERY)[b, q], h)))
            np.testing.assert_allclose(numbers(weights)[b, 0, q, :length], alpha, rtol=1e-10)
            np.testing.assert_allclose(numbers(context)[b, q], alpha @ h, rtol=1e-10, atol=1e-12)


def test_general() -> None:
    attention = doubled(GeneralAttention(3, 4))
    check(attention, lambda p, s, h: [s @ p["key.weight"] @ h_i for h_i in h], ["key.weight"])


def test_concat() -> None:
    def score(p, s, h):
        hidden = [np.tanh(p["hidden.weight"] @ np.concatenate([s, h_i])) for h_i in h]
        return [p["energy.weight"][0] @ x for x in hidden]

    check(doubled(ConcatAttention(3, 4, units=5)), score, ["energy.weight", "hidden.weight"])


def test_location() -> None:
    attention = doubled(LocationAttention(3, 4, max_source_length=8))
    check(attention, lambda p, s, h: (p["places.weight"] @ s)[: len(h)], ["places.weight"])


def test_location_refuses_a_longer_source_naming_both_lengths() -> None:
    with pytest.raises(DataError, match=r"at most 5 tokens.*; got 6.*overflow: ignore"):
        LocationAttention(3, 4, max_source_length=5).double().project(VALUES, MASK)


def test_location_does_not_take_padding_for_length() -> None:
    attention = doubled(LocationAttention(3, 4, max_source_length=2))
    rows = slice(1, 2)  # two real tokens, four of padding
    weights = attention(
        QUERY[rows], attention.project(VALUES[rows], MASK[rows]), MASK[rows], POSITION[rows], ()
    )
    assert weights.weights[..., 2:].eq(0).all()


def test_location_ignores_further_positions_if_told_to() -> None:
    attention = doubled(LocationAttention(3, 4, max_source_length=5, overflow="ignore"))
    weights = attention(QUERY, attention.project(VALUES, MASK), MASK, POSITION, ()).weights
    scores = numbers(QUERY)[0, 0] @ parameters(attention)["places.weight"].T
    np.testing.assert_allclose(numbers(weights)[0, 0, 0, :5], softmax(scores), rtol=1e-10)
    assert weights[0, :, :, 5].eq(0).all()


@pytest.mark.parametrize("name", ["local_m", "local_p"])
def test_location_takes_no_window_naming_both(name: str) -> None:
    with pytest.raises(ConfigError, match=f"'location'.*'{name}'"):
        LocationAttention(3, 4, window=Spec(Window, name))
