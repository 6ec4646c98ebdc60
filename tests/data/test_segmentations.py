"""Rows that are segmented anew: the same text, a pure function of seed, epoch and row."""

from random import Random

import pytest

from transduce.data.index import Ragged
from transduce.data.segmentations import Segmentations
from transduce.tokenizers import Tokenizer
from transduce.tokenizers.bpe import BpeTokenizer
from transduce.tokenizers.word import WordTokenizer
from transduce.types import UNK

TEXTS = ["lower newest widest", "the newest low", "widest lower lower", "low"] * 4


def fitted(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.fit(TEXTS)
    return tokenizer


@pytest.fixture
def bpe() -> Tokenizer:
    return fitted(BpeTokenizer(dropout=0.5))


def of(tokenizer: Tokenizer, epoch: int = 0, *, seed: int = 1, side: str = "source", rows=range(16)):
    ragged = Ragged.of(tokenizer.encode(text).ids for text in TEXTS)
    return Segmentations(tokenizer, seed, side).of(ragged, rows, epoch)


def test_other_pieces_of_the_same_texts(bpe):
    found = of(bpe)
    assert [bpe.decode(ids) for ids in found] == TEXTS
    assert found != [bpe.encode(text).ids for text in TEXTS]
    assert len(set(map(tuple, found[::4]))) > 1  # equal texts of other rows


def test_a_pure_function_of_seed_epoch_row_and_side(bpe):
    first = of(bpe, 2)
    assert of(bpe, 2) == first
    assert of(bpe, 2, rows=[5, 3]) == [first[5], first[3]]
    for other in (of(bpe, 3), of(bpe, 2, seed=2), of(bpe, 2, side="target")):
        assert other != first


def test_an_unknown_symbol_keeps_the_row_as_it_was(bpe):
    ids = [*bpe.encode("lower").ids, UNK, *bpe.encode("newest").ids]
    rows = Ragged.of([ids] * 20)
    assert Segmentations(bpe, 1, "source").of(rows, range(20), 0) == [ids] * 20


def test_tokenizers_that_draw_nothing_give_what_was_encoded():
    words = fitted(WordTokenizer())
    assert of(words) == [words.encode(text).ids for text in TEXTS]
    assert words.sample("low lower", Random(1)) == words.encode("low lower").ids
