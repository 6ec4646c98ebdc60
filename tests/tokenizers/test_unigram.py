"""The unigram tokenizer: the most probable pieces, and how they are learnt."""

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transduce.tokenizers import unigram
from transduce.tokenizers.unigram import Learner, UnigramTokenizer, common, frequent

STEADY = settings(deadline=None, derandomize=True, database=None)
STEMS = ["walk", "talk", "jump", "play", "cook", "clean", "open", "wait", "paint", "climb", "laugh", "rest"]
VERBS = [f"{stem}{end}" for stem in STEMS for end in ("s", "ed", "ing", "er")]
WORDS = st.lists(st.text("abcd", min_size=1, max_size=8), min_size=1, max_size=25)


def fitted(texts: list[str], **options) -> UnigramTokenizer:
    tokenizer = UnigramTokenizer(**options)
    tokenizer.fit(texts)
    return tokenizer


def best(tokenizer: UnigramTokenizer, word: str) -> float:
    """The score of the best cutting, found by going through all of them."""
    scores = dict(zip(tokenizer.symbols, tokenizer.scores, strict=True))
    return max(
        sum(scores.get(word[start:end], -math.inf) for start, end in itertools.pairwise([0, *cut, len(word)]))
        for size in range(len(word))
        for cut in itertools.combinations(range(1, len(word)), size)
    )


@STEADY
@given(words=WORDS, size=st.integers(8, 30), text=st.text("abcd", min_size=1, max_size=9))
def test_encoding_finds_the_most_probable_pieces(words, size, text):
    tokenizer = fitted(["abcd", *words], vocab_size=size)
    scores = dict(zip(tokenizer.symbols, tokenizer.scores, strict=True))
    pieces = tokenizer.segment(text)
    assert "".join(pieces) == text
    assert sum(map(scores.__getitem__, pieces)) == pytest.approx(best(tokenizer, text))


@STEADY
@given(words=WORDS, size=st.integers(5, 30), longest=st.integers(1, 5))
def test_scores_are_the_logarithms_of_probabilities(words, size, longest):
    tokenizer = fitted(words, vocab_size=size, max_length=longest)
    assert math.fsum(map(math.exp, tokenizer.scores)) == pytest.approx(1, abs=1e-4)
    order = [(-score, piece) for score, piece in zip(tokenizer.scores, tokenizer.symbols, strict=True)]
    assert order == sorted(order)
    assert all(score == round(score, 6) for score in tokenizer.scores)
    assert all(len(piece) <= longest for piece in tokenizer.symbols)
    assert len(tokenizer.symbols) <= size - 4


def test_a_sum_by_hand():
    tokenizer = fitted(["ab"] * 10)
    whole, letter = 10 / 30, 10 / 30
    share = whole / (whole + letter * letter)
    whole, letter = 10 * share - 0.5, 10 * (1 - share) - 0.5
    whole, letter = whole / (whole + 2 * letter), letter / (whole + 2 * letter)
    share = whole / (whole + letter * letter)
    whole, letter = 10 * share - 0.5, 0.1  # a letter is expected once in twenty words, hence not at all
    total = whole + 2 * letter
    assert tokenizer.symbols == ["ab", "a", "b"]
    assert tokenizer.scores == pytest.approx(
        [math.log(part / total) for part in (whole, letter, letter)], abs=1e-6
    )


def test_what_is_needed_most_stays():
    rare = [a + b for a in "abcd" for b in "efgh"]
    tokenizer = fitted(["the"] * 50 + rare * 2 + ["every"] * 40, vocab_size=4 + 12 + 2)
    assert sorted(piece for piece in tokenizer.symbols if len(piece) > 1) == ["every", "the"]


@pytest.mark.parametrize(("wanted", "left"), [(0, 15), (14, 15), (15, 15), (16, 16), (19, 19)])
def test_pruning_is_gradual(wanted, left):
    words = {a + b: 9 for a in "abcd" for b in "efghi"}
    learner = Learner(words, words, list("abcdefghi"))
    learner.maximise()
    assert learner.alive.sum() == 20 + 9
    learner.prune(wanted)
    assert learner.alive.sum() == left + 9


def test_stems_and_endings_are_found():
    tokenizer = fitted(VERBS, vocab_size=45)
    pieces = {piece for piece in tokenizer.symbols if len(piece) > 1}
    assert {"ing", "ed", "er"} <= pieces
    assert {"walk", "jump", "paint"} <= pieces
    assert tokenizer.segment("jumping") == ["jump", "ing"]
    assert tokenizer.segment("painted") == ["paint", "ed"]


def test_more_room_means_fewer_tokens():
    counts = []
    for size in (30, 40, 60, 100):
        tokenizer = fitted(VERBS * 5, vocab_size=size)
        counts.append(sum(len(tokenizer.segment(word)) for word in VERBS))
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == len(VERBS)  # a word that is seen often, and for which there is room, is one piece


def test_learning_makes_the_words_more_probable():
    tokenizer = fitted(VERBS, vocab_size=45)
    learnt = sum(best(tokenizer, word) for word in VERBS)
    letters = sorted(set("".join(VERBS)))
    pieces = [*letters, *frequent(Counter(VERBS), 16, len(tokenizer.symbols) - len(letters))]
    counts = {piece: sum(word.count(piece) for word in VERBS) for piece in pieces}  # merely frequent ones
    scores = [math.log(counts[piece] / sum(counts.values())) for piece in pieces]
    tokenizer.load_state({"symbols": pieces, "scores": scores})
    assert learnt > sum(best(tokenizer, word) for word in VERBS)


@pytest.mark.parametrize("size", [5, 6, 7, 8, 9, 10])
def test_learning_ends_however_little_room_there_is(size):
    tokenizer = fitted(["ab", "abc", "ab\0", "\0\0c", "bcbcbc"] * 3, vocab_size=size)
    assert len(tokenizer.symbols) <= size - 4


def test_only_the_most_frequent_words_are_read(monkeypatch):
    words = {"gh": 3, "cde": 5, "f": 1, "ab": 3}
    assert list(common(words)) == ["cde", "ab", "gh", "f"]
    monkeypatch.setattr(unigram, "READ", 5)
    assert list(common(words)) == ["cde", "ab"]
    monkeypatch.setattr(unigram, "READ", 1)
    assert list(common(words)) == ["cde"]
    tokenizer = fitted(["cde cde cde", "xyz"])
    assert set("cde xyz") <= set(tokenizer.symbols)  # the alphabet is never cut short
    assert tokenizer.decode(tokenizer.encode("xyz cde").ids) == "xyz cde"


def test_frequent_stretches():
    assert frequent({"abab": 1, "b": 9}, 4, 99) == {"ab": 2}
    assert frequent({"abc": 2}, 2, 99) == {"ab": 2, "bc": 2}
    assert frequent({"abc": 2}, 9, 1) == {"abc": 2}
    assert frequent({"abc": 2}, 1, 9) == {}
    assert list(frequent({"cd": 2, "ab": 2, "efg": 2}, 9, 9)) == ["efg", "ab", "cd", "ef", "fg"]


@pytest.mark.parametrize(
    "scores", [[0.0] * 2, [0.0] * 4, [math.nan] * 3, [-math.inf] * 3, ["x"] * 3, [None] * 3, 1]
)
def test_damaged_scores_are_refused(scores):
    tokenizer = fitted(["ab"] * 3)
    assert len(tokenizer.symbols) == 3
    with pytest.raises((ValueError, TypeError)):
        tokenizer.load_state({**tokenizer.state(), "scores": scores})
