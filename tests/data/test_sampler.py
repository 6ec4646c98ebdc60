"""The order of training."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.data.sampler import WINDOW, BatchSampler, Span

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
    """As a corpus of millions does: windows of a few batches."""
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


def test_windows_are_whole_batches_so_that_the_last_one_alone_ends_in_a_short_one():
    order = sampler(pairs=7)
    assert [len(window) for window in order._windows(0)] == [7 * WINDOW, 7 * WINDOW, 4000 - 14 * WINDOW]


def evenly_spread(rows, count: int) -> bool:
    """Whether each tenth of the corpus has its share of these rows, as chance would have it."""
    found = np.histogram(rows, bins=10, range=(0, count))[0]
    return bool((np.abs(found - len(rows) / 10) < 5 * math.sqrt(len(rows) / 10)).all())


@pytest.mark.parametrize("epoch", [0, 1])
def test_every_stretch_of_training_sees_all_of_a_sorted_corpus(epoch):
    """Sorted corpora are common, and training on a letter at a time is bad training."""
    count = 200_000
    lengths = np.random.default_rng(1).integers(3, 12, size=count)
    batches = list(sampler(lengths, lengths, pairs=32).batches(epoch))
    for start in range(0, len(batches), WINDOW):
        assert evenly_spread(np.concatenate(batches[start : start + WINDOW]), count)
    near = np.mean([np.abs(np.diff(np.sort(batch))).min() < 20 for batch in batches])
    assert near < 0.2  # a batch of 32 has two rows within 20 of each other in a tenth of all cases


def test_a_part_of_a_corpus_is_taken_from_all_over_it():
    for epoch in range(4):
        rows = list(taken([Span(0, 4000, 0.25)], epoch))
        assert len(rows) == 1000
        assert evenly_spread(rows, 4000)


def test_windows_are_as_large_for_a_corpus_sorted_by_length():
    ordered, shuffled = (sampler(SOURCE, target, tokens=600) for target in (np.sort(TARGET), TARGET))
    assert ordered.per_batch == pytest.approx(shuffled.per_batch, rel=0.1)


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
