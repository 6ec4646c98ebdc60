"""How a decoder's state starts from the encoder's final state."""

import numpy as np
import pytest
import torch

from tests.helpers import doubled, numbers, same
from transduce.config import Spec
from transduce.errors import ConfigError
from transduce.layers.initial_states import InitialState
from transduce.types import CellState, Shape

ENCODER = Shape(width=6, final_width=6, layers=2, directions=1)


def final(shape: Shape = ENCODER, rows: int = 3) -> CellState:
    generator = torch.Generator().manual_seed(0)
    size = (2, rows, shape.layers, shape.final_width)
    return CellState(*torch.randn(size, generator=generator, dtype=torch.float64))


def make(name: str, layers: int, width: int, leaves: int, encoder: Shape = ENCODER) -> InitialState:
    return doubled(Spec(InitialState, name).build(encoder, layers, width, leaves))


@pytest.mark.parametrize("name", list(InitialState.family))
@pytest.mark.parametrize("leaves", [1, 2])
def test_every_one_gives_a_state_a_row_layer_and_width(name: str, leaves: int) -> None:
    encoder = ENCODER._replace(directions=2) if name == "backward" else ENCODER
    state = make(name, 2, 6, leaves, encoder)(final())
    assert state.hidden.shape == state.cell.shape == (3, 2, 6)
    assert state.hidden.isfinite().all()
    assert state.cell.isfinite().all()


def test_zero_is_zero_whatever_the_encoder_says() -> None:
    state = make("zero", 3, 5, 2)(final())
    assert state.hidden.shape == state.cell.shape == (3, 3, 5)
    assert state.hidden.eq(0).all()
    assert state.cell.eq(0).all()


def test_copy_gives_all_layers_and_both_states_as_they_are() -> None:
    given = final()
    state = make("copy", 2, 6, 2)(given)
    same(state.hidden, given.hidden)
    same(state.cell, given.cell)


@pytest.mark.parametrize(
    ("layers", "width"),
    [(1, 6), (3, 6), (2, 5), (2, 3), (2, 12)],
)
def test_copy_refuses_what_does_not_fit_naming_both(layers: int, width: int) -> None:
    with pytest.raises(ConfigError) as caught:
        make("copy", layers, width, 1)
    message = str(caught.value)
    assert "encoder layers 2, width 6, directions 1" in message
    assert f"decoder layers {layers}, width {width}, directions 1" in message
    assert "bridge" in message


def test_copy_refuses_two_directions_even_where_the_widths_fit() -> None:
    with pytest.raises(ConfigError, match="directions 2 and decoder layers 1, width 4, directions 1"):
        make("copy", 1, 4, 1, encoder=Shape(4, 4, 1, 2))


@pytest.mark.parametrize("leaves", [1, 2])
def test_bridge_is_its_formula(leaves: int) -> None:
    """tanh(W [all final states of all layers] + b), one W for h and one for c."""
    bridge, given = make("bridge", 3, 5, leaves), final()
    state = bridge(given)
    for leaf, (found, read) in enumerate(zip(state, given, strict=True)):
        if leaf >= leaves:
            assert found.eq(0).all()
            continue
        weight, bias = numbers(bridge.bridges[leaf].weight), numbers(bridge.bridges[leaf].bias)
        joined = np.concatenate([numbers(read)[:, 0], numbers(read)[:, 1]], axis=1)
        expected = np.tanh(joined @ weight.T + bias)
        for layer in range(3):
            plain = expected[:, 5 * layer : 5 * layer + 5]
            np.testing.assert_allclose(numbers(found[:, layer]), plain, rtol=1e-12, atol=1e-12)


def test_bridge_has_no_parameters_for_a_state_that_there_is_not() -> None:
    count = [sum(p.numel() for p in make("bridge", 1, 5, leaves).parameters()) for leaves in (1, 2)]
    assert count == [12 * 5 + 5, 2 * (12 * 5 + 5)]


@pytest.mark.parametrize("leaves", [1, 2])
def test_backward_reads_the_first_layers_backward_half_alone(leaves: int) -> None:
    """s_0 = tanh(W ←h_1) (Bahdanau et al. 2015)."""
    initial = make("backward", 1, 5, leaves, ENCODER._replace(directions=2))
    given = final()
    p = {name: numbers(value) for name, value in initial.named_parameters()}
    expected = np.tanh(
        numbers(given.hidden)[:, 0, 3:] @ p["bridge.bridges.0.weight"].T + p["bridge.bridges.0.bias"]
    )
    np.testing.assert_allclose(numbers(initial(given).hidden)[:, 0], expected, rtol=1e-10)


def test_backward_needs_a_bidirectional_encoder() -> None:
    with pytest.raises(ConfigError, match="expected a bidirectional encoder; got 1 direction"):
        make("backward", 1, 5, 1)
