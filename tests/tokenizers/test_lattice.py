"""Sums over all cuttings, against cuttings written out one by one."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transduce.tokenizers.lattice import Lattice

STEADY = settings(deadline=None, derandomize=True, database=None)
PIECES = ["abc", "ab", "bc", "aa", "cab", "a", "b", "c"]
INDEX = {piece: number for number, piece in enumerate(PIECES)}
scores = st.lists(st.floats(-9, 0), min_size=len(PIECES), max_size=len(PIECES)).map(np.array)
words = st.lists(st.text("abc", min_size=1, max_size=7), min_size=1, max_size=5, unique=True).map(
    lambda words: sorted(words, key=len, reverse=True)
)


def cuttings(word: str, whole: bool = True) -> list[list[int]]:
    """Every way to write a word with pieces."""
    found = []
    for places in itertools.product([False, True], repeat=len(word) - 1):
        edges = [0, *(place for place, here in enumerate(places, 1) if here), len(word)]
        parts = [word[start:end] for start, end in itertools.pairwise(edges)]
        if all(part in INDEX for part in parts) and (whole or len(parts) > 1):
            found.append([INDEX[part] for part in parts])
    return found


def by_hand(words: list[str], scores: np.ndarray, counts: list[float], alive: np.ndarray) -> np.ndarray:
    expected = np.zeros(len(PIECES))
    for word, count in zip(words, counts, strict=True):
        ways = [way for way in cuttings(word) if alive[way].all()]
        chances = [math.exp(scores[way].sum()) for way in ways]
        for way, chance in zip(ways, chances, strict=True):
            for piece in way:
                expected[piece] += count * chance / math.fsum(chances)
    return expected


@STEADY
@given(words=words, scores=scores, count=st.floats(1, 9))
def test_expected_counts(words, scores, count):
    counts = [count + place for place in range(len(words))]
    lattice, alive = Lattice(words, INDEX), np.ones(len(PIECES), dtype=bool)
    np.testing.assert_allclose(
        lattice.expected(scores, np.array(counts)), by_hand(words, scores, counts, alive), atol=1e-9
    )
    alive[[0, 3]] = False
    lattice.keep(alive)
    found = lattice.expected(np.where(alive, scores, -np.inf), np.array(counts))
    np.testing.assert_allclose(found, by_hand(words, scores, counts, alive), atol=1e-9)


@STEADY
@given(words=words, scores=scores)
def test_the_best_cutting(words, scores):
    best = [max(scores[way].sum() for way in cuttings(word)) for word in words]
    np.testing.assert_allclose(Lattice(words, INDEX).best(scores), best)
    words = [word for word in words if len(word) > 1]
    best = [max(scores[way].sum() for way in cuttings(word, whole=False)) for word in words]
    np.testing.assert_allclose(Lattice(words, INDEX, whole=False).best(scores), best)


def test_no_words():
    lattice = Lattice([], INDEX)
    assert lattice.expected(np.zeros(len(PIECES)), np.zeros(0)).tolist() == [0.0] * len(PIECES)
    assert lattice.best(np.zeros(len(PIECES))).shape == (0,)


def test_a_long_word_neither_over_nor_underflows():
    lattice = Lattice(["abc" * 2000], INDEX)
    expected = lattice.expected(np.full(len(PIECES), -8.0), np.ones(1))
    lengths = np.array([len(piece) for piece in PIECES])
    assert expected @ lengths == pytest.approx(6000)
