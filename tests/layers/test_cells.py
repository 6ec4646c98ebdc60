"""Cells: the laws over the registry, and each recurrence against one written from its formula."""

import numpy as np
import pytest
import torch

from tests.helpers import PLAIN_CELLS, at, doubled, numbers, parameters, same
from transduce.config import Spec
from transduce.layers.cells import Cell, State

INPUTS, WIDTH = 3, 4
LENGTHS = (4, 1, 6, 2)  # not sorted; 6 columns

OPTIONS = [
    *((name, {}) for name in Cell.family),
    ("gru", {"reset": "before"}),
    ("gru", {"hidden_bias": False}),
    ("gru", {"reset": "before", "hidden_bias": False}),
]
every_cell = pytest.mark.parametrize("name", OPTIONS, ids=str)


def make(name: tuple[str, dict[str, object]]) -> Cell:
    return doubled(Spec(Cell, *name).build(INPUTS, WIDTH))


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def begin(cell: Cell, rows: int, seed: int = 1) -> State:
    return cell.start(draw(rows, WIDTH, seed=seed), draw(rows, WIDTH, seed=seed + 1))


def walk(cell: Cell, x: torch.Tensor, state: State) -> list[State]:
    """The state after each symbol."""
    states = []
    for inputs in x.unbind(dim=1):
        state = cell.step(cell.project(inputs), state)
        states.append(state)
    return states


@every_cell
def test_a_step_is_its_formula(name: tuple[str, dict[str, object]]) -> None:
    cell, x = make(name), draw(5, INPUTS)
    state = begin(cell, 5)
    plain_cell = PLAIN_CELLS[name[1].get("reset", "after") + name[0]]
    expected = plain_cell(parameters(cell.rnn), numbers(x), *map(numbers, state))
    found = cell.step(cell.project(x), state)
    assert len(found) == len(expected) == cell.leaves
    for leaf, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(numbers(leaf), plain, rtol=1e-12, atol=1e-12)


@every_cell
def test_steps_equal_a_run(name: tuple[str, dict[str, object]]) -> None:
    cell, x = make(name), draw(3, 5, INPUTS)
    values, final = cell.run(x, begin(cell, 3))
    states = walk(cell, x, begin(cell, 3))
    same(torch.stack([state[0] for state in states], dim=1), values)
    same(states[-1], final)


@every_cell
def test_a_projection_is_the_same_for_one_symbol_or_all(name: tuple[str, dict[str, object]]) -> None:
    cell, x = make(name), draw(3, 5, INPUTS)
    projected = cell.project(x)
    assert projected.shape == (3, 5, cell.gates * WIDTH)
    same(projected[:, 2], cell.project(x[:, 2]))


@every_cell
def test_a_packed_run_equals_each_row_alone(name: tuple[str, dict[str, object]]) -> None:
    cell, x = make(name), draw(4, 6, INPUTS)
    start = begin(cell, 4)
    values, final = cell.run(x, start, torch.tensor(LENGTHS))
    assert values.shape == (4, 6, WIDTH)
    for row, length in enumerate(LENGTHS):
        alone, last = cell.run(x[row : row + 1, :length], at(start, row))
        same(values[row : row + 1, :length], alone)
        same(at(final, row), last)


@every_cell
def test_padding_gives_exact_zeros_and_is_never_read(name: tuple[str, dict[str, object]]) -> None:
    cell, x = make(name), draw(4, 8, INPUTS)  # two columns of nothing but padding
    lengths = torch.tensor(LENGTHS)
    padding = torch.arange(8) >= lengths.unsqueeze(1)
    values, final = cell.run(x, begin(cell, 4), lengths)
    assert values[padding].eq(0).all()
    assert values[~padding].ne(0).all()
    poisoned, same_final = cell.run(x.masked_fill(padding.unsqueeze(2), torch.nan), begin(cell, 4), lengths)
    same(poisoned, values)
    same(same_final, final)


@every_cell
def test_finish_is_the_inverse_of_start(name: tuple[str, dict[str, object]]) -> None:
    cell = make(name)
    hidden, second = draw(3, WIDTH), draw(3, WIDTH, seed=5)
    state = cell.start(hidden, second)
    assert len(state) == cell.leaves
    found_hidden, found_second = cell.finish(state)
    same(found_hidden, hidden)
    same(found_second, second if cell.leaves == 2 else torch.zeros_like(second))


@every_cell
def test_gradients_reach_every_parameter_by_steps_and_by_runs_alike(
    name: tuple[str, dict[str, object]],
) -> None:
    cell, x = make(name), draw(2, 4, INPUTS)
    cell.run(x, begin(cell, 2))[0].square().sum().backward()
    by_run = {key: parameter.grad for key, parameter in cell.named_parameters()}
    cell.zero_grad()
    sum(state[0].square().sum() for state in walk(cell, x, begin(cell, 2))).backward()
    for key, parameter in cell.named_parameters():
        if not parameter.requires_grad:
            continue
        assert parameter.grad.ne(0).any(), key
        same(parameter.grad, by_run[key])


def test_a_gru_without_hidden_bias_has_the_parameters_of_nnx() -> None:
    """3 · (input + width + 1) · width, of which none is a second bias."""
    cell = make(("gru", {"hidden_bias": False}))
    trained = sum(parameter.numel() for parameter in cell.parameters() if parameter.requires_grad)
    assert trained == 3 * (INPUTS + WIDTH + 1) * WIDTH
    assert cell.recur.bias.eq(0).all()
