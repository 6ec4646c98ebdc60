"""The order of training."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.data.sampler import BatchSampler

rng = np.random.default_rng(0)
SOURCE, TARGET = rng.integers(1, 60, size=4000), rng.integers(1, 60, size=4000)
MODES = [{"pairs": 32, "tokens": None}, {"pairs": None, "tokens": 600}]
lengths = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 40)), min_size=1, max_size=300)


def sampler(source=SOURCE, target=TARGET, *, pairs=None, tokens=None, seed=1) -> BatchSampler:
    return BatchSampler(np.asarray(source), np.asarray(target), pairs=pairs, tokens=tokens, seed=seed)


def plain(batches) -> list[list[int]]:
    return [batch.tolist() for batch in batches]


def padded(batch) -> int:
    """Target tokens with padding, EOS in."""
    return len(batch) * (int(TARGET[batch].max()) + 1)


@given(
    lengths,
    st.integers(0, 5),
    st.one_of(
        st.integers(1, 9).map(lambda n: {"pairs": n}), st.integers(1, 200).map(lambda n: {"tokens": n})
    ),
)
def test_every_pair_stands_in_one_batch_of_an_epoch(sizes, epoch, mode):
    source, target = zip(*sizes, strict=True)
    batches = plain(sampler(source, target, **mode).epoch(epoch))
    assert sorted(row for batch in batches for row in batch) == list(range(len(sizes)))
    assert all(batches)


@given(lengths, st.integers(1, 200))
def test_a_token_budget_is_kept_unless_one_pair_alone_exceeds_it(sizes, tokens):
    source, target = zip(*sizes, strict=True)
    for batch in sampler(source, target, tokens=tokens).epoch(0):
        width = max(target[row] for row in batch) + 1
        assert len(batch) * width <= tokens or len(batch) == 1


@given(st.integers(1, 50), st.integers(1, 400))
def test_batches_of_pairs_are_full_but_for_the_last(pairs, count):
    sizes = Counter(map(len, sampler(SOURCE[:count], TARGET[:count], pairs=pairs).epoch(0)))
    short = {size: number for size, number in sizes.items() if size != pairs}
    assert sum(sizes.values()) == math.ceil(count / pairs)
    assert short in ({}, {count % pairs: 1})


@pytest.mark.parametrize("mode", MODES)
def test_order_is_a_pure_function_of_seed_and_epoch(mode):
    first = sampler(**mode)
    expected = plain(first.epoch(3))
    plain(first.epoch(0))
    assert plain(first.epoch(3)) == expected
    assert plain(sampler(**mode).epoch(3)) == expected
    assert plain(sampler(**mode, seed=2).epoch(3)) != expected


@pytest.mark.parametrize("mode", MODES)
def test_epochs_differ_in_their_batches_not_only_in_order(mode):
    first, second = (set(map(frozenset, plain(sampler(**mode).epoch(epoch)))) for epoch in (0, 1))
    assert len(first & second) < len(first) / 10


@pytest.mark.parametrize("mode", MODES)
def test_batches_hold_pairs_of_similar_length(mode):
    batches = sampler(**mode).epoch(0)
    real = int(TARGET.sum()) + len(TARGET)
    assert sum(map(padded, batches)) < 1.05 * real
    sources = sum(len(batch) * int(SOURCE[batch].max()) for batch in batches)
    assert sources < 1.82 * int(SOURCE.sum())  # 1.73 to 1.78; 1.87 where only targets are sorted


@pytest.mark.parametrize("mode", MODES)
def test_lengths_come_in_no_order(mode):
    widths = [int(TARGET[batch].max()) for batch in sampler(**mode).epoch(0)]
    assert abs(np.corrcoef(widths, range(len(widths)))[0, 1]) < 0.3


def test_a_budget_is_used():
    batches = sampler(tokens=600).epoch(0)
    assert max(map(padded, batches)) <= 600
    assert np.mean([padded(batch) for batch in batches]) > 0.85 * 600
