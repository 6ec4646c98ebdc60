"""The English–Telugu pairs that come with the package."""

import pytest

from transduce.data.pairs import PairSource, Place
from transduce.data.sources.english_telugu import EnglishTelugu
from transduce.experiment import load_experiment
from transduce.tokenizers.word import WordTokenizer

SIZES = {"train": 6841, "dev": 364, "test": 387}


def read(part: str, **options: bool):
    return EnglishTelugu(Place(part), **options).read()


@pytest.mark.parametrize("part", list(SIZES))
def test_every_part_is_there_stripped_and_in_lower_case(part: str) -> None:
    found = read(part)
    assert len(found.pairs) + len(found.skipped) == SIZES[part]
    for source, target in found.pairs:
        assert source == source.strip().lower()
        assert target == target.strip()
        assert target


def test_telugu_is_telugu_and_english_keeps_its_case_if_asked() -> None:
    pairs = read("train", lowercase=False).pairs
    telugu = sum(any("\u0c00" <= c <= "\u0c7f" for c in pair.target) for pair in pairs)
    assert telugu > 0.95 * len(pairs)
    assert any(pair.source != pair.source.lower() for pair in pairs)
    assert [pair.source.lower() for pair in pairs] == [pair.source for pair in read("train").pairs]


def test_it_is_registered_and_its_recipe_is_the_walk_through() -> None:
    assert PairSource.family["english_telugu"] is EnglishTelugu
    model = load_experiment("english-telugu").model
    assert model.decoder.plain()["attention"]["name"] == "dot"
    assert model.encoder.plain()["width"] == model.decoder.plain()["width"] == 32


def test_words_are_numbered_as_first_seen_in_the_training_part() -> None:
    pairs = read("train").pairs
    tokenizer = WordTokenizer()
    tokenizer.fit(pair.source for pair in pairs)
    first = [word for word in pairs[0].source.split(" ") if word]
    assert tokenizer.encode(pairs[0].source).ids[0] == 4
    assert tokenizer.token(4) == first[0]
