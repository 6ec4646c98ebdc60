"""The data of a run: what is read, held out, fitted on, and given out epoch by epoch."""

import re
from pathlib import Path

import pytest

from tests.tiny import experiment
from transduce.data.pairs import Pair
from transduce.errors import DataError
from transduce.experiment import Experiment, load_experiment
from transduce.run.corpus import Corpus, TrainingBatches, hold_out, require

PAIRS = [Pair(f"s{number % 30}", f"t{number}") for number in range(60)]  # each source twice


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def corpus(config: Experiment) -> tuple[Corpus, list[str]]:
    said: list[str] = []
    return Corpus(config, said.append), said


def batches(config: Experiment) -> TrainingBatches:
    found = Corpus(config, print)
    return TrainingBatches(found, *found.fit_tokenizers(), print)


def test_without_dev_data_a_tenth_of_the_sources_is_held_out(tmp_path):
    path = write(tmp_path / "t.tsv", "".join(f"{source}\t{target}\n" for source, target in PAIRS))
    found, said = corpus(load_experiment({"data": {"train": path}}))
    assert said == ["no dev data given: 6 training pairs are held out for it"]
    assert sorted(found.train + found.dev) == sorted(PAIRS)
    assert not {pair.source for pair in found.train} & {pair.source for pair in found.dev}
    again, _ = corpus(load_experiment({"data": {"train": path}}))
    assert (again.train, again.dev) == (found.train, found.dev)


def test_what_is_held_out_depends_on_the_seed_alone():
    assert hold_out(PAIRS, 1) == hold_out(PAIRS, 1)
    assert hold_out(PAIRS, 1) != hold_out(PAIRS, 2)


@pytest.mark.parametrize(("sources", "count"), [(10, 1), (19, 1), (20, 2), (9999, 999), (20000, 1000)])
def test_a_tenth_but_no_more_than_a_thousand(sources, count):
    pairs = [Pair(str(number), "t") for number in range(sources)]
    train, dev = hold_out(pairs, 1)
    assert (len(train), len(dev)) == (sources - count, count)


def test_too_few_sources_hold_none_out():
    with pytest.raises(DataError, match="expected dev data, or at least 10 sources to hold some out; got 9"):
        hold_out([Pair(str(number % 9), "t") for number in range(100)], 1)


def test_dev_data_that_is_named_is_used():
    found, said = corpus(experiment())
    assert (len(found.train), len(found.dev), said) == (60, 6, [])


def test_what_was_skipped_is_said_and_nothing_at_all_refused(tmp_path):
    path = write(tmp_path / "t.tsv", "a\tb\n\tc\n \td\ne\tf\n")
    found, said = corpus(load_experiment({"data": {"train": path, "dev": path}}))
    assert found.train == [Pair("a", "b"), Pair("e", "f")]
    assert said[:2] == [
        f"data.{part}: skipped 2 of 4 pairs with a blank side (lines 2, 3)" for part in ("train", "dev")
    ]
    assert said[2:] == ["dev: 2 of 2 pairs also in train: scores on them are too good"]
    blank = write(tmp_path / "blank.tsv", " \tx\n")
    for data, part in (({"train": blank}, "train"), ({"train": path, "dev": blank}, "dev")):
        with pytest.raises(
            DataError, match=f"data.{part}: expected at least one pair with text on both sides"
        ):
            corpus(load_experiment({"data": data}))


def test_data_that_no_one_named_is_asked_for():
    config = load_experiment({"data": {"train": "t.tsv"}})
    with pytest.raises(DataError, match=r"data.test: expected data; this experiment names none"):
        require(config, "test")


def test_tokenizers_are_fitted_on_the_training_part_alone(tmp_path):
    train, dev = write(tmp_path / "t.tsv", "b a\tx\nc\ty x\n"), write(tmp_path / "d.tsv", "zz\tzz\n")
    tree = {"data": {"train": train, "dev": dev}, "tokenizer": {"source": "word", "target": "word"}}
    source, target = Corpus(load_experiment(tree), print).fit_tokenizers()
    assert (source.state(), target.state()) == ({"symbols": ["b", "a", "c"]}, {"symbols": ["x", "y"]})
    shared = Corpus(load_experiment(tree, ["tokenizer.shared=true"]), print).fit_tokenizers()
    assert shared[0] is shared[1]
    assert shared[0].state() == {"symbols": ["b", "a", "x", "c", "y"]}


def ids(config: Experiment, epoch: int, position: int = 0) -> list[list[list[int]]]:
    return [batch.source.tokens.tolist() for batch in batches(config)(epoch, position)]


def test_an_epoch_can_be_entered_anywhere():
    whole = ids(experiment(), 3)
    assert len(whole) == batches(experiment()).per_epoch == 4
    for position in range(5):
        assert ids(experiment(), 3, position) == whole[position:]


@pytest.mark.parametrize("fresh", [False, True])
def test_epochs_hold_the_same_pairs_unless_they_are_fresh(fresh):
    config = experiment(f"data.train.fresh={str(fresh).lower()}", "data.train.length=6")
    first, second = (sorted(row for batch in ids(config, epoch) for row in batch) for epoch in (0, 1))
    assert (first == second) is not fresh
    assert ids(config, 1) == ids(config, 1)


def test_tokens_outside_the_vocabulary_are_counted_aloud(tmp_path):
    path = write(tmp_path / "t.tsv", "a b\tx\nb c\tx\n")
    tree = {"data": {"train": path, "dev": path}, "tokenizer": {"source": {"name": "word", "max_size": 1}}}
    found, said = Corpus(load_experiment(tree), print), []
    TrainingBatches(found, *found.fit_tokenizers(), said.append)
    assert said == ["2 of 4 source tokens to train on are not in the vocabulary"]


@pytest.mark.parametrize("strict", [False, True])
def test_DAT_17_pairs_of_dev_and_test_that_are_trained_on_are_counted(tmp_path, strict):
    """One of two dev pairs; of the test pairs one, but both their sources."""
    parts = {"train": "a\t1\nb\t2\nc\t3\n", "dev": "b\t2\nd\t4\n", "test": "c\t3\nc\t9\n"}
    for part, text in parts.items():
        (tmp_path / f"{part}.tsv").write_text(text, encoding="utf-8")
    data = {part: str(tmp_path / f"{part}.tsv") for part in parts} | {"strict": strict}
    experiment = load_experiment({"data": data})
    wanted = "dev: 1 of 2 pairs; test: 1 of 2 pairs (2 of 2 sources) also in train"
    said: list[str] = []
    if strict:
        with pytest.raises(DataError, match=re.escape(wanted)):
            Corpus(experiment, said.append)
    else:
        Corpus(experiment, said.append)
        assert [line for line in said if wanted in line]


def test_parts_that_share_nothing_say_nothing(tmp_path):
    for number, part in enumerate(("train", "dev", "test")):
        (tmp_path / f"{part}.tsv").write_text(f"{number}\tx\n", encoding="utf-8")
    data = {part: str(tmp_path / f"{part}.tsv") for part in ("train", "dev", "test")}
    said: list[str] = []
    Corpus(load_experiment({"data": data}), said.append)
    assert said == []


def test_strict_refuses_a_blank_side(tmp_path):
    (tmp_path / "train.tsv").write_text("a\t1\nb\t\n", encoding="utf-8")
    data = {"train": str(tmp_path / "train.tsv"), "strict": True}
    with pytest.raises(DataError, match=r"skipped 1 of 2 pairs with a blank side \(lines 2\)"):
        Corpus(load_experiment({"data": data}), print)
