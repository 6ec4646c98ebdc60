"""Short pairs first: the paper's competence, and what it admits."""

import math
from collections import Counter
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.config import validate
from transduce.data.curriculum import Course, Curriculum
from transduce.data.sampler import BatchSampler, Span
from transduce.errors import ConfigError

rng = np.random.default_rng(0)
SOURCE, TARGET = rng.integers(1, 40, size=3000), rng.integers(1, 40, size=3000)
LENGTHS = SOURCE + TARGET
COUNTS = Counter(LENGTHS.tolist())
MODES = [{"pairs": 32, "tokens": None}, {"pairs": None, "tokens": 700}]


def sampler(curriculum: Curriculum | None, *, count: int = 3000, accumulate: int = 1, **mode) -> BatchSampler:
    course = curriculum and Course(curriculum, Counter(LENGTHS[:count].tolist()), accumulate)
    spans = [Span(0, count)]
    return BatchSampler(spans, lambda rows: (SOURCE[rows], TARGET[rows]), seed=1, course=course, **mode)


def longest(batches) -> list[int]:
    return [int(LENGTHS[batch].max()) for batch in batches]


def test_competence_is_the_papers():
    """√(t (1 - c₀²)/T + c₀²), with c₀ = .1 and T = 100, by hand."""
    curriculum = Curriculum(updates=100, start=0.1)
    found = [curriculum.competence(update) for update in (0.0, 1.0, 25.0, 50.0, 100.0, 1e9)]
    assert found == pytest.approx([0.1, math.sqrt(0.0199), math.sqrt(0.2575), math.sqrt(0.505), 1, 1])


@pytest.mark.parametrize(
    "options", [{"updates": 0}, {"updates": 5, "start": 0.0}, {"updates": 5, "start": 1.1}]
)
def test_a_curriculum_that_is_none_is_refused(options):
    with pytest.raises(ConfigError, match=r"curriculum: (updates|start): expected"):
        validate(Curriculum, options, "curriculum")


def test_limits_by_hand():
    """Ten pairs of lengths 1 to 10, batches of 2, a window an epoch, competence from .3 to 1 in 4 updates."""
    course = Course(Curriculum(updates=4, start=0.3), dict.fromkeys(range(1, 11), 1), 1)
    limits = [next(course.limits(epoch, 1, 5.0)) for epoch in range(4)]
    # c(0) = .3 -> 3 pairs, 2 batches; c(2) = √.545 = .738 -> 8 pairs, 4 batches; then it is over
    assert limits == [3, 8, None, None]
    slower = Course(Curriculum(updates=4, start=0.3), dict.fromkeys(range(1, 11), 1), 2)
    assert [next(slower.limits(epoch, 1, 5.0)) for epoch in range(4)] == [3, 6, 9, None]


@given(st.integers(1, 60), st.floats(0.01, 1), st.integers(1, 5), st.floats(0.3, 50), st.integers(1, 3))
def test_limits_rise_until_all_is_admitted(updates, start, windows, batches, accumulate):
    course = Course(Curriculum(updates=updates, start=start), COUNTS, accumulate)
    whole = [
        limit for epoch in range(70) for limit in islice(course.limits(epoch, windows, batches), windows)
    ]
    over = whole.index(None) if None in whole else len(whole)
    assert whole[over:] == [None] * (len(whole) - over)
    assert whole[:over] == sorted(whole[:over])
    if over:
        share = sum(count for length, count in COUNTS.items() if length <= whole[0]) / 3000
        assert start <= share
    assert over <= updates * accumulate


@pytest.mark.parametrize("mode", MODES)
def test_early_epochs_hold_the_shortest_pairs_and_late_ones_each_pair_once(mode):
    order, plain = sampler(Curriculum(updates=120, start=0.1), **mode), sampler(None, **mode)
    epochs = [list(order.batches(epoch)) for epoch in range(12)]
    first = np.concatenate(epochs[0])
    limit = np.sort(LENGTHS)[math.ceil(0.1 * 3000) - 1]
    assert sorted(first) == np.flatnonzero(limit >= LENGTHS).tolist()
    widths = [max(longest(batches)) for batches in epochs]
    assert widths == sorted(widths)
    assert widths[0] < widths[1] < widths[-1] == LENGTHS.max()
    for epoch in (10, 11):
        assert [b.tolist() for b in epochs[epoch]] == [b.tolist() for b in plain.batches(epoch)]


def test_competence_follows_the_updates_that_were_made():
    curriculum = Curriculum(updates=150, start=0.1)
    order, made = sampler(curriculum, pairs=32, tokens=None), 0.0
    for epoch in range(20):
        batches = list(order.batches(epoch))
        share = sum(map(len, batches)) / 3000
        assert share == pytest.approx(curriculum.competence(made), abs=0.04)
        made += len(batches)
    assert share == 1


@pytest.mark.parametrize("mode", MODES)
def test_an_epoch_of_many_windows_admits_more_and_more_and_can_be_entered_anywhere(mode, monkeypatch):
    monkeypatch.setattr("transduce.data.sampler.WINDOW", 6)
    order = sampler(Curriculum(updates=30, start=0.05), **mode)
    whole = [batch.tolist() for batch in order.batches(0)]
    rows = [row for batch in whole for row in batch]
    assert len(rows) == len(set(rows)) < 3000
    widths = longest(whole)
    assert max(widths[:5]) < max(widths[-20:])
    for position in (0, 1, len(whole) // 2, len(whole) - 1, len(whole)):
        assert [batch.tolist() for batch in order.batches(0, position)] == whole[position:]
    for epoch in (2, 3):
        assert sum(map(len, order.batches(epoch))) == 3000


def test_the_order_is_a_pure_function_of_seed_and_epoch():
    curriculum = Curriculum(updates=100, start=0.1)
    order = sampler(curriculum, pairs=32, tokens=None)
    late = [batch.tolist() for batch in order.batches(3)]
    list(order.batches(0))
    assert [batch.tolist() for batch in order.batches(3)] == late
    assert [batch.tolist() for batch in sampler(curriculum, pairs=32, tokens=None).batches(3)] == late


@pytest.mark.parametrize("count", [1, 2, 33])
def test_hardly_any_pairs_are_enough(count):
    order = sampler(Curriculum(updates=5, start=0.01), count=count, pairs=32, tokens=None)
    assert all(sum(map(len, order.batches(epoch))) >= 1 for epoch in range(6))
    assert sum(map(len, order.batches(6))) == count
