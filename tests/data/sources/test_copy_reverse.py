"""Made sequences against their definition: reversal, alphabet, parts apart, seeds."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from transduce.config import Spec, dump_options
from transduce.data.pairs import Pair, PairSource, Place
from transduce.data.sources.copy_reverse import CopyReverse
from transduce.errors import ConfigError

PARTS = ("train", "dev", "test")


def read(part: str = "train", seed: int = 1, epoch: int = 0, **options) -> list[Pair]:
    return CopyReverse(Place(part, seed), **options).read(epoch).pairs


@pytest.mark.parametrize(("part", "size"), [("train", 1024), ("dev", 256), ("test", 1024)])
def test_default_pairs_are_eight_of_twelve_symbols_reversed(part, size):
    pairs = read(part)
    assert len(pairs) == size
    alphabet = {str(n) for n in range(12)}
    for source, target in pairs:
        words = source.split(" ")
        assert len(words) == 8
        assert set(words) <= alphabet
        assert target.split(" ") == [words[7 - i] for i in range(8)]


def test_copy_gives_the_source_back():
    assert all(source == target for source, target in read(task="copy"))
    assert [pair.source for pair in read(task="copy")] == [pair.source for pair in read()]


def test_every_symbol_is_as_likely_at_every_place():
    pairs = read(size=12000)
    for place in range(8):
        counts = Counter(pair.source.split(" ")[place] for pair in pairs)
        assert len(counts) == 12
        assert max(abs(count - 1000) for count in counts.values()) < 5 * 1000**0.5


@pytest.mark.parametrize(("length", "symbols"), [(4, 4), (3, 10), (8, 2), (8, 12)])
def test_no_sequence_is_in_two_parts_whatever_the_seed(length, symbols):
    options = {"length": length, "symbols": symbols, "size": 400}
    train = {pair for seed in range(8) for pair in read("train", seed, **options)}
    fresh = {pair for epoch in range(8) for pair in read("train", 1, epoch, fresh=True, **options)}
    dev, test = set(read("dev", **options)), set(read("test", **options))
    assert not (train | fresh) & (dev | test)
    assert not dev & test


def test_parts_share_all_sequences_and_never_change():
    every = {" ".join(words) for words in product("0123456789", repeat=3)}
    options = {"length": 3, "symbols": 10, "size": 10000}
    found = {part: {pair.source for pair in read(part, **options)} for part in PARTS}
    assert set().union(*found.values()) == every
    assert {part: len(found[part]) for part in PARTS} == {"train": 920, "dev": 37, "test": 43}
    assert sorted(found["dev"])[:4] == ["0 0 2", "0 1 1", "0 7 8", "1 4 8"]


def test_only_training_depends_on_the_seed():
    assert read("train", 1) != read("train", 2)
    for part in ("dev", "test"):
        assert read(part, 1) == read(part, 2)
    for part in PARTS:
        assert read(part, 3) == read(part, 3)
        assert read(part, -1, size=3)


def test_fresh_gives_other_sequences_each_epoch():
    epochs = [read("train", 5, epoch, fresh=True) for epoch in range(3)]
    assert len({tuple(pairs) for pairs in epochs}) == 3
    assert epochs[2] == read("train", 5, 2, fresh=True)
    assert epochs[2] != read("train", 6, 2, fresh=True)
    assert all(target.split(" ") == source.split(" ")[::-1] for source, target in epochs[2])


def test_only_training_can_be_fresh():
    for part in PARTS:
        assert CopyReverse(Place(part), fresh=True).fresh is (part == "train")
        assert CopyReverse(Place(part)).fresh is False
    for part in ("dev", "test"):
        assert read(part, 1, 0, fresh=True) == read(part, 1, 4)
    assert read("train", 1, 0) == read("train", 1, 4)


def test_long_sequences_and_many_symbols():
    pairs = read("test", size=50, length=700, symbols=5000)
    assert len(pairs) == 50
    assert all(len(pair.source.split(" ")) == 700 for pair in pairs)
    assert max(int(word) for pair in pairs for word in pair.source.split(" ")) > 4900


@pytest.mark.parametrize("option", ["size", "length", "symbols"])
@pytest.mark.parametrize("value", [0, -3])
def test_options_below_one_are_refused(option, value):
    with pytest.raises(ConfigError, match=f"copy_reverse: expected {option} of at least 1; got {value}"):
        CopyReverse(Place(), **{option: value})


def test_too_few_sequences_to_keep_parts_apart_are_refused():
    with pytest.raises(ConfigError, match=r"in dev alone; got too few with length 1 and symbols 1"):
        read("dev", length=1, symbols=1)
    assert len(read("train", length=1, symbols=1)) == 1024


def test_it_is_chosen_by_name():
    spec = Spec(PairSource, "copy_reverse", {"size": 3, "length": 2})
    assert spec.build(Place("dev")).read().pairs == read("dev", size=3, length=2)
    assert dump_options(CopyReverse, {}) == {
        "name": "copy_reverse", "size": None, "length": 8,
        "shortest": None, "symbols": 12, "task": "reverse", "fresh": False,
    }  # fmt: skip


def test_lengths_vary_from_the_shortest_on_each_as_often():
    pairs = CopyReverse(Place(), size=3000, length=7, shortest=4).read().pairs
    lengths = np.array([len(pair.source.split(" ")) for pair in pairs])
    assert np.bincount(lengths, minlength=8).tolist()[:4] == [0, 0, 0, 0]
    assert np.bincount(lengths)[4:] / 3000 == pytest.approx([0.25] * 4, abs=0.03)
    assert all(pair.target.split(" ") == pair.source.split(" ")[::-1] for pair in pairs)


def test_a_short_sequence_is_in_the_part_where_it_is_among_its_own_length():
    short = {pair.source for pair in CopyReverse(Place("test"), size=40, length=3).read().pairs}
    mixed = CopyReverse(Place("train"), size=4000, length=5, shortest=3, symbols=12).read().pairs
    assert not short & {pair.source for pair in mixed}


def test_a_shortest_above_the_length_is_refused_naming_both():
    with pytest.raises(ConfigError, match="got shortest 9, length 8"):
        CopyReverse(Place(), shortest=9)
