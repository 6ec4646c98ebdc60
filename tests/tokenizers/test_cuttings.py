"""Subword regularisation: cuttings come as often as their probability says."""

import itertools
import math
from collections import Counter
from random import Random

import numpy as np
import pytest

from transduce.config import validate
from transduce.errors import ConfigError
from transduce.tokenizers import cuttings
from transduce.tokenizers.cuttings import Cuttings, UnigramSampling
from transduce.tokenizers.lattice import Lattice
from transduce.tokenizers.unigram import UnigramTokenizer

SCORES = {"a": -2.0, "b": -2.5, "ab": -2.2, "ba": -3.0, "aba": -4.0, "bab": -5.5}
DRAWS = 5_000


def shares(word: str, alpha: float) -> dict[tuple[str, ...], float]:
    """The exact distribution over all cuttings, by going through them."""
    found = {}
    for size in range(len(word)):
        for cut in itertools.combinations(range(1, len(word)), size):
            pieces = tuple(word[start:end] for start, end in itertools.pairwise([0, *cut, len(word)]))
            if SCORES.keys() >= set(pieces):
                found[pieces] = math.exp(alpha * sum(map(SCORES.__getitem__, pieces)))
    total = sum(found.values())
    return {pieces: weight / total for pieces, weight in found.items()}


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("word", ["a", "ababa", "bbab"])
def test_cuttings_have_the_papers_probabilities(word, alpha):
    drawn, random, expected = Cuttings(SCORES, alpha), Random(1), shares(word, alpha)
    seen = Counter(tuple(drawn.draw(word, random)) for _ in range(DRAWS))
    assert set(seen) <= set(expected)
    for pieces, probability in expected.items():
        deviation = math.sqrt(probability * (1 - probability) / DRAWS)
        assert abs(seen[pieces] / DRAWS - probability) <= 4.5 * deviation, pieces


def test_pieces_are_as_frequent_as_the_lattice_expects():
    """The sums that the tokenizer is learnt by, from arrays of their own."""
    words, alpha = ["abababba", "babab"], 0.5
    index = {piece: number for number, piece in enumerate(SCORES)}
    scores = np.array([*SCORES.values()]) * alpha
    expected = Lattice(words, index).expected(scores, np.ones(len(words)))
    drawn, random = Cuttings(SCORES, alpha), Random(5)
    seen = Counter(piece for _ in range(DRAWS) for word in words for piece in drawn.draw(word, random))
    for piece, number in index.items():
        assert seen[piece] / DRAWS == pytest.approx(expected[number], abs=0.04)


def test_long_words_do_not_underflow():
    word = "ab" * 2000
    assert "".join(Cuttings(SCORES, 3.0).draw(word, Random(1))) == word


def test_what_is_remembered_is_bounded_and_changes_nothing(monkeypatch):
    monkeypatch.setattr(cuttings, "CACHED", 2)
    small, words = Cuttings(SCORES, 1.0), ["ab", "ba", "aba", "ab", "bab"] * 3
    random = Random(2)
    first = [small.draw(word, random) for word in words]
    assert len(small.remembered) <= 2
    monkeypatch.undo()
    large, random = Cuttings(SCORES, 1.0), Random(2)
    assert [large.draw(word, random) for word in words] == first


def test_a_tokenizer_samples_its_own_scores():
    texts = ["walked", "walking", "talked", "talking", "walks talks"] * 5
    tokenizer = UnigramTokenizer(vocab_size=30, sample=UnigramSampling(alpha=50.0))
    tokenizer.fit(texts)
    assert tokenizer.sample("walked talks", Random(1)) == tokenizer.encode("walked talks").ids
    wild = UnigramTokenizer(vocab_size=30, sample=UnigramSampling(alpha=0.0))
    wild.load_state(tokenizer.state())
    drawn = {tuple(wild.sample("walked talks", Random(seed))) for seed in range(50)}
    assert len(drawn) > 3
    assert wild.encode("walked talks") == tokenizer.encode("walked talks")


@pytest.mark.parametrize("alpha", [-0.1, 101.0, math.nan])
def test_an_exponent_that_is_none_is_refused(alpha):
    with pytest.raises(ConfigError, match="alpha: expected"):
        validate(UnigramSampling, {"alpha": alpha}, "sample")
