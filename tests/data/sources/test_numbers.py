"""Numbers in words, read back by rules of our own."""

import re

import pytest

from transduce.config import Spec
from transduce.data.pairs import Pair, PairSource, Place
from transduce.data.sources.numbers import Numbers, part_of
from transduce.errors import ConfigError

UNITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
UNITS += ["twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def read(part: str = "train", seed: int = 1, **options) -> list[Pair]:
    return Numbers(Place(part, seed), **options).read().pairs


def understand(words: str) -> int:
    """Reads English number words: a word adds, a hundred multiplies, a thousand closes a group."""
    total = group = 0
    for word in re.findall(r"[a-z]+", words):
        if word == "thousand":
            total, group = total + group * 1000, 0
        elif word == "hundred":
            group *= 100
        elif word != "and":
            group += UNITS.index(word) if word in UNITS else 10 * TENS.index(word)
    return total + group


def test_english_words_mean_the_digits():
    pairs = read(size=400, languages=["en"])
    assert [understand(pair.source) for pair in pairs] == [int(pair.target) for pair in pairs]
    assert {len(pair.target) for pair in pairs} == set(range(1, 7))


def test_telugu_words_are_telugu_and_tell_numbers_apart():
    pairs = read(size=400, languages=["te"])
    assert all(re.fullmatch(r"[\u0c00-\u0c7f ]+", pair.source) for pair in pairs)
    assert len({pair.source for pair in pairs}) == len({pair.target for pair in pairs})
    assert dict(read(size=2000, languages=["te"]))["ఒకటి"] == "1"


def test_languages_share_the_pairs():
    english = sum(pair.source.isascii() for pair in read(size=1000))
    assert 400 < english < 600


def test_no_number_is_in_two_parts():
    parts = [{pair.target for pair in read(part, size=300)} for part in ("train", "dev", "test")]
    assert not parts[0] & parts[1]
    assert not parts[0] & parts[2]
    assert not parts[1] & parts[2]
    assert [part_of(number) for number in (7, 42, 999)] == [part_of(7), part_of(42), part_of(999)]
    shares = [sum(part_of(n) == part for n in range(20000)) / 20000 for part in ("train", "dev", "test")]
    assert shares == pytest.approx([0.9, 0.05, 0.05], abs=0.01)


def test_train_follows_the_seed_and_what_is_scored_does_not():
    assert read(size=50) == read(size=50) != read(size=50, seed=2)
    assert read("test", size=50) == read("test", size=50, seed=2)


def test_writing_is_reading_turned_round():
    pairs = read(size=50, languages=["en"], task="write")
    assert [pair[::-1] for pair in pairs] == read(size=50, languages=["en"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size of at least 1; got 0"),
        ({"digits": 13}, "1 to 12 digits; got 13"),
        ({"languages": ["xx"]}, "unknown language 'xx'; known: "),
        ({"languages": []}, "expected a language for task 'read'; got none"),
        ({"task": "write"}, "expected one language for task 'write'; got en, te"),
        ({"task": "sing"}, "expected task 'read' or 'write'; got 'sing'"),
    ],
)
def test_what_cannot_be_made_is_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        Spec(PairSource, "numbers", options).build(Place())


def test_a_part_without_numbers_is_an_error_not_an_endless_search():
    for digits in (1,):
        held = {
            part for part in ("train", "dev", "test") if any(part_of(n) == part for n in range(10**digits))
        }
        for part in {"train", "dev", "test"} - held:
            with pytest.raises(ConfigError, match="too few have 1 digits"):
                read(part, size=2, digits=digits)
