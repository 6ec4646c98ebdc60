"""Buckets of source length: who belongs where, and that each is scored as alone."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transduce.config import Spec
from transduce.errors import ConfigError, DataError
from transduce.metrics import Metric, even_bounds, measure, measure_by_length, quantile_bounds

RNG = random.Random(3)
WORDS = ["a", "b", "c", "d", "e"]
LENGTHS = [1, 10, 11, 20, 21, 35, 5, 15, 10, 35]
REFERENCES = [" ".join(RNG.choices(WORDS, k=length)) for length in LENGTHS]
HYPOTHESES = [" ".join(w if RNG.random() < 0.7 else "x" for w in r.split()) for r in REFERENCES]


def ranges(lengths: list[int], bounds: list[int] | None = None) -> list[tuple[int, int, int]]:
    lines = ["a"] * len(lengths)
    return [bucket[:3] for bucket in measure_by_length([], lengths, lines, lines, bounds=bounds)]


def test_by_tens_unless_told_otherwise() -> None:
    assert ranges(LENGTHS) == [(1, 10, 4), (11, 20, 3), (21, 30, 1), (31, 40, 2)]
    assert ranges(LENGTHS, [10]) == [(1, 10, 4), (11, 35, 6)]
    assert ranges(LENGTHS, [4, 20, 100]) == [(1, 4, 1), (5, 20, 6), (21, 100, 3)]
    assert ranges([3]) == [(1, 10, 1)]


def test_empty_buckets_are_left_out_and_empty_sources_are_not() -> None:
    assert ranges([1, 45]) == [(1, 10, 1), (41, 50, 1)]
    assert ranges([0, 0, 12]) == [(0, 10, 2), (11, 20, 1)]
    assert ranges([0]) == [(0, 10, 1)]


def test_each_bucket_is_scored_as_if_alone() -> None:
    references = [[line, "b a"] if n % 3 else line for n, line in enumerate(REFERENCES)]
    buckets = measure_by_length(None, LENGTHS, HYPOTHESES, references, list)
    for bucket in buckets:
        rows = [n for n, length in enumerate(LENGTHS) if bucket.shortest <= length <= bucket.longest]
        assert bucket.lines == len(rows)
        alone = measure(None, [HYPOTHESES[n] for n in rows], [references[n] for n in rows], list)
        assert list(bucket.scores) == list(alone)
        for name, score in alone.items():
            assert bucket.scores[name] == score._replace(value=pytest.approx(score.value))
    assert sum(bucket.lines for bucket in buckets) == len(LENGTHS)


def test_one_bucket_is_the_corpus() -> None:
    (bucket,) = measure_by_length(["wer", Spec(Metric, "bleu")], LENGTHS, HYPOTHESES, REFERENCES, bounds=[50])
    assert bucket.scores == measure(["wer", "bleu"], HYPOTHESES, REFERENCES)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=30), st.integers(1, 6))
def test_every_line_is_in_one_bucket(lengths: list[int], parts: int) -> None:
    for bounds in (None, even_bounds(lengths, parts), quantile_bounds(lengths, parts)):
        found = ranges(lengths, bounds)
        assert sum(lines for *_, lines in found) == len(lengths)
        assert all(
            lines == sum(shortest <= length <= longest for length in lengths)
            for shortest, longest, lines in found
        )


def test_quantiles_hold_about_as_many_lines_each() -> None:
    assert quantile_bounds(list(range(1, 101))) == [25, 50, 75, 100]
    assert [lines for *_, lines in ranges(list(range(1, 101)), quantile_bounds(range(1, 101), 5))] == [20] * 5
    assert quantile_bounds([7] * 9 + [9], 4) == [7, 9]
    assert quantile_bounds([0, 0, 0], 2) == [1]


def test_even_bounds_reach_the_longest() -> None:
    assert even_bounds([1, 20]) == [10, 20]
    assert even_bounds([21], 10) == [10, 20, 30]
    assert even_bounds([5], 2) == [2, 4, 6]
    assert even_bounds([0]) == [10]


@pytest.mark.parametrize("bounds", [[], [0, 5], [5, 5], [9, 4], [-1]])
def test_bounds_that_make_no_buckets_are_refused(bounds: list[int]) -> None:
    with pytest.raises(ConfigError, match="ascending bounds of at least 1"):
        measure_by_length(None, LENGTHS, HYPOTHESES, REFERENCES, bounds=bounds)


def test_other_things_that_do_not_fit() -> None:
    with pytest.raises(DataError, match="one source length per line; got 2 for 1"):
        measure_by_length(None, [1, 2], ["a"], ["a"])
    with pytest.raises(DataError, match="at least 0; got -1"):
        measure_by_length(None, [-1], ["a"], ["a"])
    with pytest.raises(DataError, match="2 hypotheses and 1 references"):
        measure_by_length(None, [1], ["a", "b"], ["a"])
    with pytest.raises(ConfigError, match="a width of at least 1; got 0"):
        even_bounds([1], 0)
    with pytest.raises(ConfigError, match="at least 1 bucket; got 0"):
        quantile_bounds([1], 0)
