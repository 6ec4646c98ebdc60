"""Encoded pairs in flat arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.data.index import Index, Ragged, encode_pairs
from transduce.data.pairs import Pair
from transduce.tokenizers.char import CharTokenizer
from transduce.tokenizers.word import WordTokenizer


@given(st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=5), max_size=8))
def test_every_sequence_is_found_again(sequences):
    ragged = Ragged.of(sequences)
    assert [ragged.row(index).tolist() for index in range(len(sequences))] == sequences
    assert ragged.lengths.tolist() == list(map(len, sequences))
    assert ragged.ids.dtype == np.int32
    assert len(ragged.ids) == sum(map(len, sequences))


def test_pairs_are_encoded_by_their_own_tokenizers_without_specials():
    pairs = [Pair("ab a", "x y"), Pair("b", "y"), Pair("z", "q")]
    source, target = CharTokenizer(), WordTokenizer()
    source.fit(["ab a", "b"])
    target.fit(["x y"])
    index = encode_pairs(pairs, source, target)
    assert isinstance(index, Index)
    assert len(index) == 3
    assert [index.source.row(row).tolist() for row in range(3)] == [[4, 5, 6, 4], [5], [1]]
    assert [index.target.row(row).tolist() for row in range(3)] == [[4, 5], [5], [1]]


def test_no_pairs_make_an_empty_index():
    index = encode_pairs([], CharTokenizer(), CharTokenizer())
    assert len(index) == 0
    assert index.source.lengths.tolist() == []
    with pytest.raises(IndexError):
        index.source.row(0)
