"""Options that several components share are refused with their name and value."""

import math

import pytest

from transduce.errors import ConfigError
from transduce.layers.checks import check_dropout, check_sizes


@pytest.mark.parametrize("size", [0, -3])
def test_sizes_below_one_are_refused(size: int) -> None:
    with pytest.raises(ConfigError, match=rf"encoder\.layers: expected at least 1; got {size}$"):
        check_sizes("encoder", width=4, layers=size)


def test_sizes_of_one_or_left_out_pass() -> None:
    check_sizes("encoder", width=1, embedding=None)


@pytest.mark.parametrize("dropout", [-0.1, 1.0, 1.5, math.nan])
def test_what_is_no_dropout_is_refused(dropout: float) -> None:
    with pytest.raises(ConfigError, match=rf"decoder\.dropout: expected .* below 1; got {dropout}$"):
        check_dropout("decoder", dropout=dropout)


@pytest.mark.parametrize("dropout", [0.0, 0.3, 0.99])
def test_any_other_dropout_passes(dropout: float) -> None:
    check_dropout("decoder", dropout=dropout)
