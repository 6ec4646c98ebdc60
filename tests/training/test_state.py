"""What the loop remembers of validations."""

import json
import math

import pytest

from transduce.training.state import TrainState


def history(values: list[float], *, higher: bool) -> tuple[list[bool], TrainState]:
    state, improved = TrainState(), []
    for update, value in enumerate(values, 1):
        state.update = update
        improved.append(state.improved(value, higher_is_better=higher))
    return improved, state


@pytest.mark.parametrize("higher", [True, False])
def test_only_a_better_value_is_a_new_best(higher):
    values = [5.0, 6.0, 4.0, 4.0, 6.0, 7.0]
    improved, state = history(values if higher else [-value for value in values], higher=higher)
    assert improved == [True, True, False, False, False, True]
    assert state.best == (7.0 if higher else -7.0)
    assert (state.best_update, state.bad_validations) == (6, 0)


def test_the_count_since_the_best_begins_anew():
    _, state = history([1.0, 0.5, 2.0, 2.0, 1.0], higher=True)
    assert (state.best, state.best_update, state.bad_validations) == (2.0, 3, 2)


@pytest.mark.parametrize("higher", [True, False])
def test_nan_is_never_the_best(higher):
    improved, state = history([math.nan, 1.0, math.nan, 1.0], higher=higher)
    assert improved == [False, True, False, False]
    assert (state.best, state.best_update, state.bad_validations) == (1.0, 2, 2)


def test_it_survives_being_written_as_json():
    _, state = history([0.1, 0.3, 0.2], higher=True)
    state.loss, state.tokens = 0.1 + 0.2, 7
    assert TrainState.of(json.loads(json.dumps(state.plain()))) == state


def test_among_equals_the_lower_loss_is_the_better_model_but_patience_runs_on():
    state, improved = TrainState(), []
    for update, (value, loss) in enumerate([(0.9, 0.5), (0.9, 0.4), (0.9, 0.45), (0.8, 0.1), (0.9, 0.3)], 1):
        state.update = update
        improved.append(state.improved(value, higher_is_better=True, loss=loss))
    assert improved == [True, True, False, False, True]
    assert (state.best, state.best_loss, state.best_update, state.bad_validations) == (0.9, 0.3, 5, 4)
