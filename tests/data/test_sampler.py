"""The order of training."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.data.sampler import BLOCK, BatchSampler, Span

rng = np.random.default_rng(0)
SOURCE, TARGET = rng.integers(1, 60, size=4000), rng.integers(1, 60, size=4000)
MODES = [{"pairs": 32, "tokens": None}, {"pairs": None, "tokens": 600}]
lengths = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 40)), min_size=1, max_size=300)


def sampler(source=SOURCE, target=TARGET, *, pairs=None, tokens=None, seed=1) -> BatchSampler:
    source, target = np.asarray(source), np.asarray(target)
    spans = [Span(0, len(source))]
    return BatchSampler(
        spans, lambda rows: (source[rows], target[rows]), pairs=pairs, tokens=tokens, seed=seed
    )


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
    batches = plain(sampler(source, target, **mode).batches(epoch))
    assert sorted(row for batch in batches for row in batch) == list(range(len(sizes)))
    assert all(batches)


@given(lengths, st.integers(1, 200))
def test_a_token_budget_is_kept_unless_one_pair_alone_exceeds_it(sizes, tokens):
    source, target = zip(*sizes, strict=True)
    for batch in sampler(source, target, tokens=tokens).batches(0):
        width = max(target[row] for row in batch) + 1
        assert len(batch) * width <= tokens or len(batch) == 1


@given(st.integers(1, 50), st.integers(1, 400))
def test_batches_of_pairs_are_full_but_for_the_last(pairs, count):
    sizes = Counter(map(len, sampler(SOURCE[:count], TARGET[:count], pairs=pairs).batches(0)))
    short = {size: number for size, number in sizes.items() if size != pairs}
    assert sum(sizes.values()) == math.ceil(count / pairs)
    assert short in ({}, {count % pairs: 1})


@pytest.mark.parametrize("mode", MODES)
def test_order_is_a_pure_function_of_seed_and_epoch(mode):
    first = sampler(**mode)
    expected = plain(first.batches(3))
    plain(first.batches(0))
    assert plain(first.batches(3)) == expected
    assert plain(sampler(**mode).batches(3)) == expected
    assert plain(sampler(**mode, seed=2).batches(3)) != expected


@pytest.mark.parametrize("mode", MODES)
def test_epochs_differ_in_their_batches_not_only_in_order(mode):
    first, second = (set(map(frozenset, plain(sampler(**mode).batches(epoch)))) for epoch in (0, 1))
    assert len(first & second) < len(first) / 10


@pytest.mark.parametrize("mode", MODES)
def test_batches_hold_pairs_of_similar_length(mode):
    batches = list(sampler(**mode).batches(0))
    real = int(TARGET.sum()) + len(TARGET)
    assert sum(map(padded, batches)) < 1.05 * real
    sources = sum(len(batch) * int(SOURCE[batch].max()) for batch in batches)
    most = 1.903 if mode["pairs"] else 1.8  # over 1.907 and 1.86 where only targets are sorted
    assert sources < most * int(SOURCE.sum())


@pytest.mark.parametrize("mode", MODES)
def test_lengths_come_in_no_order(mode):
    widths = [int(TARGET[batch].max()) for batch in sampler(**mode).batches(0)]
    assert abs(np.corrcoef(widths, range(len(widths)))[0, 1]) < 0.3


def test_a_budget_is_used():
    batches = list(sampler(tokens=600).batches(0))
    assert max(map(padded, batches)) <= 600
    assert np.mean([padded(batch) for batch in batches]) > 0.85 * 600


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [0, 1, 700, 4000])
def test_an_epoch_can_be_entered_anywhere(mode, count):
    order = sampler(SOURCE[:count], TARGET[:count], **mode)
    whole = plain(order.batches(2))
    for position in {0, 1, len(whole) // 3, max(0, len(whole) - 1), len(whole), len(whole) + 5}:
        assert plain(order.batches(2, position)) == whole[position:]
    if count and mode["pairs"]:
        assert order.per_epoch == len(whole)
    elif count:
        assert order.per_epoch == pytest.approx(len(whole), rel=0.02, abs=1)


@pytest.mark.parametrize("mode", MODES)
def test_many_windows_hold_every_row_once_and_enter_anywhere(mode, monkeypatch):
    """As a corpus of millions does: windows of a few batches, blocks of few rows."""
    monkeypatch.setattr("transduce.data.sampler.BLOCK", 64)
    monkeypatch.setattr("transduce.data.sampler.WINDOW", 6)
    order = sampler(**mode)
    whole = plain(order.batches(1))
    assert sorted(row for batch in whole for row in batch) == list(range(len(SOURCE)))
    assert len(list(order._windows(1))) > 10
    assert sum(map(len, whole)) / len(whole) > 0.8 * (mode["pairs"] or 600 / (TARGET.mean() + 1) * 0.8)
    for position in (3, len(whole) // 2, len(whole) - 2):
        assert plain(order.batches(1, position)) == whole[position:]
    firsts = [batch[0] for batch in whole]
    assert abs(np.corrcoef(firsts, range(len(firsts)))[0, 1]) < 0.2


def test_blocks_are_whole_batches_so_that_one_window_alone_ends_in_a_short_one():
    order = sampler(pairs=48)
    assert order.block % 48 == 0
    assert order.block >= BLOCK


def taken(spans, epoch, **mode) -> Counter[int]:
    order = BatchSampler(spans, lambda rows: (SOURCE[rows], TARGET[rows]), tokens=None, pairs=16, seed=1)
    return Counter(row for batch in plain(order.batches(epoch)) for row in batch)


def test_weights_say_how_often_an_epoch_takes_each_pair():
    spans = [
        Span(0, 100, 2.0),
        Span(100, 300, 1.0),
        Span(400, 200, 0.25),
        Span(600, 0, 5.0),
        Span(600, 10, 1.5),
    ]
    found = taken(spans, 0)
    assert {found[row] for row in range(100)} == {2}
    assert {found[row] for row in range(100, 400)} == {1}
    assert sum(found[row] for row in range(400, 600)) == 50
    assert max(found[row] for row in range(400, 600)) == 1
    assert sum(found[row] for row in range(600, 610)) == 15
    assert found.total() == 200 + 300 + 50 + 15


def test_what_an_epoch_leaves_out_comes_in_the_next():
    parts = [
        set(taken([Span(0, 200, 0.25), Span(200, 50)], epoch)) - set(range(200, 250)) for epoch in range(4)
    ]
    assert sorted(set.union(*parts)) == list(range(200))
    assert sum(map(len, parts)) == 200
