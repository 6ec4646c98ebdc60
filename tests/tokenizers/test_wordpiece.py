"""WordPiece: the longest piece first."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.models import WordPiece

from transduce.tokenizers.bpe import BpeTokenizer
from transduce.tokenizers.wordpiece import WordPieceTokenizer

STEADY = settings(deadline=None, derandomize=True, database=None)
words = st.lists(st.text("abc", min_size=1, max_size=8), min_size=1, max_size=30)


def loaded(*pieces: str) -> WordPieceTokenizer:
    tokenizer = WordPieceTokenizer()
    tokenizer.load_state({"symbols": pieces})
    return tokenizer


def fitted(texts: list[str], **options) -> WordPieceTokenizer:
    tokenizer = WordPieceTokenizer(**options)
    tokenizer.fit(texts)
    return tokenizer


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("abcd", ["abc", "d"]),
        ("bcd", ["bcd"]),
        ("aabcd", ["a", "abc", "d"]),
        ("dabc", ["d", "abc"]),
        ("cab", ["c", "a", "b"]),
        ("", []),
    ],
)
def test_the_longest_piece_first(word, pieces):
    assert loaded(*"abcd", "abc", "bcd", "bc").segment(word) == pieces


def test_bpe_differs_where_a_merge_came_earlier():
    texts = ["bcd"] * 9 + ["abc"] * 5
    bpe = BpeTokenizer()
    bpe.fit(texts)
    tokenizer = fitted(texts)
    assert tokenizer.symbols == bpe.symbols
    assert tokenizer.segment("abcd") == ["abc", "d"]
    assert bpe.segment("abcd") == ["a", "bcd"]


@STEADY
@given(words=words, text=st.text("abc", min_size=1, max_size=40))
def test_encoding_is_that_of_the_library(words, text):
    tokenizer = fitted(["abc", *words], vocab_size=20)
    library = WordPiece(
        vocab={piece: index for index, piece in enumerate([*tokenizer.symbols, "unknown token"])},
        unk_token="unknown token",
        max_input_chars_per_word=100,
        continuing_subword_prefix="",
    )
    assert tokenizer.segment(text) == [token.value for token in library.tokenize(text)]


def test_an_unknown_character_does_not_take_its_word_along():
    tokenizer = fitted(["walking talking"] * 5)
    assert tokenizer.decode(tokenizer.encode("walkïng").ids) == "walk<unk>ng"


def test_a_very_long_word_is_cut_like_any_other():
    tokenizer = fitted(["abc"] * 9)
    assert tokenizer.segment("abc" * 20_000) == ["abc"] * 20_000
