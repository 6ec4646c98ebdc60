"""Which source positions a target position may look at."""

import numpy as np
import pytest
import torch

from tests.helpers import doubled, numbers, parameters, sigmoid, softmax
from transduce.attention.additive import AdditiveAttention
from transduce.attention.general import GeneralAttention
from transduce.attention.windows import GlobalWindow, MonotonicWindow, PredictedWindow, Window
from transduce.config import Spec
from transduce.errors import ConfigError

LENGTHS = (4, 6, 0)
MASK = torch.arange(6) < torch.tensor(LENGTHS).unsqueeze(1)
POSITION = torch.arange(9).expand(3, 9)  # past the end of every source


def query(positions: int = 9, width: int = 5) -> torch.Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randn(3, positions, width, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("name", list(Window.family))
@pytest.mark.parametrize("radius", [1, 2, 10])
def test_no_window_reaches_padding_nor_leaves_a_real_row_without_a_token(name: str, radius: int) -> None:
    options = {} if name == "global" else {"radius": radius}
    view = doubled(Spec(Window, name, options).build(5))(query(), MASK, POSITION)
    allowed = view.allowed.expand(3, 9, 6)
    assert not (allowed & ~MASK.unsqueeze(1)).any()
    assert allowed[:2].any(dim=-1).all()
    assert not allowed[2].any()


def test_global_allows_every_real_token() -> None:
    view = GlobalWindow(5)(query(2), MASK, POSITION[:, :2])
    assert view.allowed.expand(3, 2, 6).equal(MASK.unsqueeze(1).expand(3, 2, 6))
    assert view.factor is None


def test_local_m_goes_along_and_is_clipped_at_each_sentences_own_ends() -> None:
    view = MonotonicWindow(5, radius=1)(query(), MASK, POSITION)
    assert view.factor is None
    for row, length in enumerate(LENGTHS):
        for t in range(9):
            place = min(t, length - 1)
            wanted = {i for i in range(length) if place - 1 <= i <= place + 1}
            assert set(view.allowed[row, t].nonzero().flatten().tolist()) == wanted


def test_local_p_is_its_formula() -> None:
    """p = S σ(vᵀ tanh(W s)) with S the sentence's own length; exp(-(i - p)²/(2σ²)), σ = D/2."""
    window = doubled(PredictedWindow(5, radius=2))
    p, queries = parameters(window), query()
    view = window(queries, MASK, POSITION)
    for row, length in enumerate(LENGTHS[:2]):
        for t in range(9):
            hidden = np.tanh(p["hidden.weight"] @ numbers(queries)[row, t])
            centre = length * sigmoid(p["place.weight"][0] @ hidden)
            distance = np.arange(6) - centre
            np.testing.assert_allclose(numbers(view.factor)[row, t], np.exp(-(distance**2) / 2), rtol=1e-10)
            wanted = [abs(d) <= 2 and i < length for i, d in enumerate(distance)]
            assert view.allowed[row, t].tolist() == wanted


@pytest.mark.parametrize("renormalise", [False, True])
def test_the_factor_multiplies_the_weights(renormalise: bool) -> None:
    """local-p and general, Luong's best: softmax inside the window, then the Gaussian."""
    window = Spec(Window, "local_p", {"radius": 2, "renormalise": renormalise})
    attention = doubled(GeneralAttention(5, 4, window=window))
    values = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    keys = attention.project(values, MASK)
    context, weights, _ = attention(query(), keys, MASK, POSITION, ())
    view, p = attention.window(query(), MASK, POSITION), parameters(attention)
    for t in range(9):
        inside = numbers(view.allowed[0, t]).nonzero()[0]
        h = numbers(values)[0, inside]
        alpha = softmax(h @ p["key.weight"].T @ numbers(query())[0, t]) * numbers(view.factor)[0, t, inside]
        alpha = alpha / alpha.sum() if renormalise else alpha
        np.testing.assert_allclose(numbers(weights)[0, 0, t, inside], alpha, rtol=1e-10)
        np.testing.assert_allclose(numbers(context)[0, t], alpha @ h, rtol=1e-10, atol=1e-12)
    assert weights[2].eq(0).all()
    assert context.isfinite().all()


@pytest.mark.parametrize("name", ["local_m", "local_p"])
@pytest.mark.parametrize("radius", [0, -3])
def test_a_radius_below_one_is_refused(name: str, radius: int) -> None:
    with pytest.raises(ConfigError, match=rf"radius: expected at least 1; got {radius}"):
        AdditiveAttention(4, 4, window=Spec(Window, name, {"radius": radius}))
