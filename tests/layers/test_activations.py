"""The hyperbolic tangent of decoding is the hyperbolic tangent."""

import pytest
import torch

from transduce.layers.activations import decodes_on_cpu, tanh, tanh_

X = [0.0, 1e-8, -1e-3, 0.3, -0.9, 2.5, -9.0, 44.0, -44.0, 1e4, -1e4, float("inf"), -float("inf")]


@pytest.mark.parametrize(("dtype", "within"), [(torch.float32, 3e-7), (torch.float64, 6e-16)])
def test_without_gradients_it_is_the_same_to_the_last_places_of_1(dtype, within):
    x = torch.tensor([*X, *torch.randn(1000).tolist()], dtype=dtype)
    with torch.no_grad():
        assert decodes_on_cpu(x)
        torch.testing.assert_close(tanh(x), x.tanh(), rtol=0, atol=within)
        given = x.clone()
        assert tanh_(given) is given
        assert given.equal(tanh(x))
        assert tanh(torch.tensor(float("nan"))).isnan()


def test_with_gradients_or_few_digits_it_is_torchs_own():
    x = torch.randn(100)
    assert not decodes_on_cpu(x)
    assert tanh(x).equal(x.tanh())
    assert tanh_(x.clone()).equal(x.tanh())
    with torch.no_grad():
        half = x.bfloat16()
        assert not decodes_on_cpu(half)
        assert tanh(half).equal(half.tanh())
