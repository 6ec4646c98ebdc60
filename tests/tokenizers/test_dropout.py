"""BPE-dropout against the paper's algorithm, followed through every coin."""

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest

from transduce.errors import ConfigError
from transduce.tokenizers.bpe import BpeTokenizer
from transduce.tokenizers.dropout import Drops

LOW = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3 + ["wewe"] * 4
RATE = Fraction(1, 4)
DRAWS = 5_000


def fitted(**options) -> BpeTokenizer:
    tokenizer = BpeTokenizer(**options)
    tokenizer.fit(LOW)
    return tokenizer


def outcomes(parts: tuple[str, ...], merges: list[tuple[str, str]]) -> Counter[tuple[str, ...]]:
    """The exact probability of each segmentation: every merge of a step is dropped or not."""
    places = [place for place, pair in enumerate(pairwise(parts)) if pair in merges]
    places.sort(key=lambda place: (merges.index((parts[place], parts[place + 1])), place))
    found = Counter({parts: RATE ** len(places)})
    for rank, place in enumerate(places):  # the first that is kept is made
        share = RATE**rank * (1 - RATE)
        merged = (*parts[:place], parts[place] + parts[place + 1], *parts[place + 2 :])
        for result, probability in outcomes(merged, merges).items():
            found[result] += share * probability
    return found


@pytest.mark.parametrize("word", ["lowest", "newest", "wewewe"])
def test_segmentations_have_the_papers_probabilities(word):
    tokenizer = fitted(dropout=float(RATE))
    expected = outcomes(tuple(word), tokenizer.merges)
    assert sum(expected.values()) == 1
    random = Random(word)
    seen = Counter(tuple(map(tokenizer.token, tokenizer.sample(word, random))) for _ in range(DRAWS))
    assert set(seen) <= set(expected)
    for pieces, probability in expected.items():
        deviation = math.sqrt(probability * (1 - probability) / DRAWS)
        assert abs(seen[pieces] / DRAWS - probability) < 4.5 * deviation, pieces


def test_words_of_one_text_are_independent():
    tokenizer, random, word = fitted(dropout=float(RATE)), Random(3), tuple("low")
    whole = outcomes(word, tokenizer.merges)["low",]
    texts = ([*map(tokenizer.token, tokenizer.sample("low-low", random))] for _ in range(DRAWS))
    both = sum(pieces[0] == "low" and pieces[-1] == "low" for pieces in texts)
    assert abs(both / DRAWS - whole**2) < 4.5 * math.sqrt(whole**2 * (1 - whole**2) / DRAWS)


@pytest.mark.parametrize("rate", [0.01, 0.25, 0.9])
def test_drops_fall_as_often_as_they_should_however_they_are_asked(rate):
    drops, asked, dropped = Drops(rate, Random(1)), 0, 0
    for coins in [1, 3, 7] * 4000:
        if drops.spare(coins):
            asked += coins
        else:
            asked += 1
            dropped += drops()
    for _ in range(4000):
        asked += 1
        dropped += drops()
    assert abs(dropped / asked - rate) < 4.5 * math.sqrt(rate * (1 - rate) / asked)


def test_without_dropout_the_ids_are_those_of_encode():
    tokenizer = fitted()
    assert tokenizer.sampler is None
    assert tokenizer.sample("lowest newest", Random(1)) == tokenizer.encode("lowest newest").ids


def test_hardly_any_dropout_hardly_changes_anything():
    tokenizer = fitted(dropout=1e-12)
    for text in (*LOW, "lowest newest", "wwwwewewe", "est est"):
        assert tokenizer.sample(text, Random(1)) == tokenizer.encode(text).ids


@pytest.mark.parametrize("rate", [-0.1, 1.0, math.nan])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(ConfigError, match=r"dropout: expected at least 0 and below 1; got"):
        BpeTokenizer(dropout=rate)
