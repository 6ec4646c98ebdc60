"""What layers of a stack pass on, against the sums written out."""

import pytest
import torch
from torch.nn import functional as F

from transduce.errors import ConfigError
from transduce.layers.stacking import Stacking

STATES = list(torch.randn(4, 2, 3, 5, generator=torch.Generator().manual_seed(0)).double())


def test_without_options_layers_pass_on_their_states() -> None:
    assert all(map(torch.equal, Stacking("s", [5] * 4, None, False).climb(STATES), STATES))


def test_from_the_third_layer_on_each_adds_what_it_was_given() -> None:
    """Wu et al. 2016, eq. 8: x_i = h_i + x_{i-1}, from the third layer on."""
    h = STATES
    expected = [h[0], h[1], h[1] + h[2], h[1] + h[2] + h[3]]
    for found, sums in zip(Stacking("s", [5] * 4, 3, False).climb(h), expected, strict=True):
        torch.testing.assert_close(found, sums)


def test_layer_norm_follows_each_sum() -> None:
    stacking = Stacking("s", [5] * 4, 2, True).double()
    for norm in stacking.norms:
        norm.weight.data.uniform_(0.5, 2.0)
        norm.bias.data.uniform_(-1.0, 1.0)
    expected = F.layer_norm(STATES[0], [5]) * stacking.norms[0].weight + stacking.norms[0].bias
    found = stacking.climb(STATES)
    torch.testing.assert_close(found[0], expected)
    for layer in (1, 2, 3):
        norm = stacking.norms[layer]
        expected = F.layer_norm(STATES[layer] + expected, [5], eps=norm.eps) * norm.weight + norm.bias
        torch.testing.assert_close(found[layer], expected)


@pytest.mark.parametrize("layer", [1, 5, 0, -2])
def test_a_layer_that_cannot_be_residual_is_refused(layer: int) -> None:
    with pytest.raises(
        ConfigError, match=rf"encoder\.residual_from: expected a layer from 2 to layers, 4; got {layer}"
    ):
        Stacking("encoder", [5] * 4, layer, False)


def test_a_sum_of_unequal_widths_is_refused_naming_them() -> None:
    Stacking("encoder", [10, 5, 5], 3, False)
    with pytest.raises(ConfigError, match="got 2, and layers of width 10, 5, 5"):
        Stacking("encoder", [10, 5, 5], 2, False)
