"""Byte-pair encoding against the textbook."""

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transduce.tokenizers.bpe import BpeTokenizer

STEADY = settings(deadline=None, derandomize=True, database=None)
LOW = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3  # the paper's dictionary


def fitted(texts: list[str], **options) -> BpeTokenizer:
    tokenizer = BpeTokenizer(**options)
    tokenizer.fit(texts)
    return tokenizer


def pieces(tokenizer: BpeTokenizer, text: str) -> list[str]:
    return [text[start:end] for start, end in tokenizer.encode(text).offsets]


def merged(parts: list[str], pair: tuple[str, str]) -> list[str]:
    """The parts with each occurrence of a pair, from the left, made one."""
    result, place = [], 0
    while place < len(parts):
        width = 2 if tuple(parts[place : place + 2]) == pair else 1
        result.append("".join(parts[place : place + width]))
        place += width
    return result


def textbook(words: Counter[str], size: int, least: int) -> tuple[list[str], list[tuple[str, str]]]:
    """The algorithm as the paper states it; of equals, the pair with the older parts."""
    symbols = sorted({letter for word in words for letter in word})
    cut, merges = {word: list(word) for word in words}, []
    while len(symbols) < size:
        counts = Counter[tuple[str, str]]()
        for word, parts in cut.items():
            for pair in itertools.pairwise(parts):
                counts[pair] += words[word]
        ages = {symbol: age for age, symbol in enumerate(symbols)}
        ordered = sorted(counts, key=lambda pair: (-counts[pair], ages[pair[0]], ages[pair[1]]))
        if not ordered or counts[ordered[0]] < least:
            break
        merges.append(ordered[0])
        cut = {word: merged(parts, ordered[0]) for word, parts in cut.items()}
        symbols = list(dict.fromkeys([*symbols, "".join(ordered[0])]))
    return symbols, merges


def cut(word: str, merges: list[tuple[str, str]]) -> list[str]:
    parts = list(word)
    for pair in merges:
        parts = merged(parts, pair)
    return parts


def test_the_papers_dictionary():
    tokenizer = fitted(LOW, vocab_size=4 + 10 + 4)
    assert tokenizer.symbols == [*"deilnorstw", "es", "est", "lo", "low"]
    assert pieces(tokenizer, "lowest") == ["low", "est"]
    assert pieces(tokenizer, "newest") == ["n", "e", "w", "est"]
    assert pieces(fitted(LOW), "lowest") == ["low", "est"]
    assert pieces(fitted(LOW), "newest") == ["newest"]


@STEADY
@given(
    words=st.lists(st.text("abc", min_size=1, max_size=7), min_size=1, max_size=30),
    size=st.integers(1, 25),
    least=st.integers(1, 3),
)
def test_learning_and_encoding_follow_the_textbook(words, size, least):
    tokenizer = fitted(words, vocab_size=size + 4, min_pair_count=least)
    letters = {letter for word in words for letter in word}
    if len(letters) <= size:
        assert (tokenizer.symbols, tokenizer.merges) == textbook(Counter(words), size, least)
        for word in {*words, "abcabc", "cccc", "baaab"}:
            if letters.issuperset(word):
                assert pieces(tokenizer, word) == cut(word, tokenizer.merges)


@pytest.mark.parametrize(("least", "merges"), [(1, 3), (2, 2), (3, 1), (4, 0)])
def test_rare_pairs_are_not_merged(least, merges):
    assert len(fitted(["ab", "ab", "ab", "cd", "cd", "ef"], min_pair_count=least).merges) == merges


def test_ids_are_letters_by_code_point_then_merges_by_age():
    tokenizer = fitted(["ba ba", "ba cb"])
    assert tokenizer.symbols == [" ", "a", "b", "c", "ba"]
    assert tokenizer.encode("ba c").ids == [8, 4, 7]
    assert tokenizer.state() == {"symbols": tokenizer.symbols, "merges": [["b", "a"]]}


@pytest.mark.parametrize(
    "merges", [[["a", "z"]], [["a", "a"]], [["a"]], [["a", "b", "c"]], [[1, 2]], [7], None, 1]
)
def test_damaged_merges_are_refused(merges):
    tokenizer = fitted(["ab ab"])
    assert tokenizer.merges
    with pytest.raises((ValueError, TypeError)):
        tokenizer.load_state({**tokenizer.state(), "merges": merges})
