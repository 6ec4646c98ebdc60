"""Attention at source position 0, by hand."""

import numpy as np
import pytest

from transduce.metrics.first_position import FirstPosition


def told(*matrices: list[list[float]]) -> dict[str, float]:
    first = FirstPosition()
    for matrix in matrices:
        first.add(np.array(matrix, dtype=np.float32))
    return first.plain()


def test_rows_of_all_matrices_count_alike() -> None:
    found = told([[0.5, 0.25, 0.25], [0.25, 0.75, 0.0]], [[0.25, 0.75]], [[1.0, 0.0]])
    assert found["rows"] == 4
    assert found["position_0_share"] == 2 / 4
    assert found["position_0_weight"] == pytest.approx(2.0 / 4)
    assert found["uniform_weight"] == pytest.approx((1 / 3 + 1 / 3 + 1 / 2 + 1 / 2) / 4, abs=1e-6)


def test_a_tie_is_no_peak() -> None:
    assert told([[0.4, 0.4, 0.2]])["position_0_share"] == 0
    assert told([[0.0, 0.0]])["position_0_share"] == 0


def test_where_there_is_no_choice_nothing_is_told() -> None:
    nothing = {"rows": 0, "position_0_share": 0, "position_0_weight": 0, "uniform_weight": 0}
    assert told([[1.0], [1.0]]) == nothing
    assert told() == told(np.zeros((0, 0)).tolist() or [[]]) == nothing
    first = FirstPosition()
    first.add(np.zeros((0, 4), dtype=np.float32))
    assert first.plain() == nothing
