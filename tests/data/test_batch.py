"""Batches: what is padded, shifted and masked, and what is refused."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transduce.data.batch import pad, pair_batch, source_batch
from transduce.data.index import Index, Ragged
from transduce.types import BOS, EOS, PAD, Source, check_source

A, B, C = 4, 5, 6
ids = st.lists(st.integers(4, 50), max_size=6)


def index(*pairs: tuple[list[int], list[int]]) -> Index:
    return Index(*(Ragged.of(side) for side in zip(*pairs, strict=True)))


def test_the_decoder_reads_bos_and_the_target_without_its_end():
    batch = pair_batch(index(([C], [A, B]), ([C, C], [B])), [0, 1], source_eos=False)
    assert batch.inputs.tolist() == [[BOS, A, B], [BOS, B, PAD]]
    assert batch.target.tolist() == [[A, B, EOS], [B, EOS, PAD]]
    assert batch.target_mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.source.tokens.tolist() == [[C, PAD], [C, C]]
    assert batch.source.mask.tolist() == [[True, False], [True, True]]


def test_the_source_ends_with_eos_where_asked():
    batch = pair_batch(index(([C], [A]), ([C, B], [A])), [0, 1], source_eos=True)
    assert batch.source.tokens.tolist() == [[C, EOS, PAD], [C, B, EOS]]
    assert batch.source.mask.tolist() == [[True, True, False], [True, True, True]]


def test_rows_come_in_the_order_asked_for():
    pairs = index(([A], [A]), ([B], [B]), ([C], [C]))
    batch = pair_batch(pairs, iter([2, 0, 2]), source_eos=False)
    assert batch.source.tokens.flatten().tolist() == [C, A, C]
    assert batch.target[:, 0].tolist() == [C, A, C]


@given(pairs=st.lists(st.tuples(ids, ids), min_size=1, max_size=6))
def test_masks_are_true_at_real_tokens_and_padding_is_pad(pairs):
    batch = pair_batch(index(*pairs), range(len(pairs)), source_eos=True)
    source, target = batch.source, batch.target
    assert source.mask.sum(dim=1).tolist() == [len(s) + 1 for s, _ in pairs]
    assert batch.target_mask.sum(dim=1).tolist() == [len(t) + 1 for _, t in pairs]
    assert source.tokens.shape[1] == source.mask.sum(dim=1).max()
    assert target.shape == batch.inputs.shape == batch.target_mask.shape
    assert source.tokens.eq(PAD).equal(~source.mask)
    assert target.eq(PAD).equal(~batch.target_mask)
    assert batch.inputs.eq(PAD).equal(~batch.target_mask)
    for row, (s, t) in enumerate(pairs):
        assert source.tokens[row][source.mask[row]].tolist() == [*s, EOS]
        assert target[row][batch.target_mask[row]].tolist() == [*t, EOS]
        assert batch.inputs[row][batch.target_mask[row]].tolist() == [BOS, *t]


def test_an_empty_target_is_one_eos():
    batch = pair_batch(index(([A], []), ([A], [B])), [0, 1], source_eos=False)
    assert batch.target.tolist() == [[EOS, PAD], [B, EOS]]
    assert batch.inputs.tolist() == [[BOS, PAD], [BOS, B]]


def test_an_empty_source_is_refused_by_row():
    with pytest.raises(ValueError, match=r"expected a real token in every row; got empty rows \[1\]"):
        source_batch([[A], [], [B]], eos=False)
    with pytest.raises(ValueError, match=r"empty rows \[0\]"):
        source_batch([[]], eos=False)
    assert source_batch([[A], []], eos=True).tokens.tolist() == [[A, EOS], [EOS, PAD]]


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([[1, 1, 0], [1, 1, 1]], r"expected bool \(2, 3\), True at real tokens; got torch.int64 \(2, 3\)"),
        ([[True, True], [True, True]], r"got torch.bool \(2, 2\)"),
        ([[True, False, True], [True, True, True]], "expected padding on the right only"),
        ([[False, True, True], [True, True, True]], "expected padding on the right only"),
        ([[True, True, True], [False, False, False]], r"got empty rows \[1\]"),
    ],
)
def test_masks_that_say_nonsense_are_refused(unchecked, mask, message):
    tokens = torch.full((2, 3), A)
    assert check_source(Source(tokens, torch.ones(2, 3, dtype=torch.bool))).tokens is tokens
    with pytest.raises(ValueError, match=message):
        check_source(Source(tokens, torch.tensor(mask)))


def test_padding_keeps_long_ids_and_makes_no_column_too_many():
    tokens, mask = pad([[2**31, 7], []])
    assert tokens.tolist() == [[2**31, 7], [PAD, PAD]]
    assert mask.tolist() == [[True, True], [False, False]]
    assert tokens.dtype == torch.int64
    assert pad([[], []])[0].shape == (2, 0)
