"""The data of a run: what is read, held out, fitted on, and given out epoch by epoch."""

import re
from pathlib import Path

import pytest

from tests.tiny import experiment
from transduce.data.limits import Limits
from transduce.data.pairs import Pair
from transduce.errors import DataError
from transduce.experiment import Experiment, load_experiment
from transduce.run.corpus import Corpus, SmallestSources, read, require
from transduce.run.training_data import TrainingBatches

PAIRS = [Pair(f"s{number % 30}", f"t{number}") for number in range(60)]  # each source twice


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def corpus(config: Experiment) -> tuple[Corpus, list[str]]:
    said: list[str] = []
    found = Corpus(config, said.append)
    found.survey()
    return found, said


def pairs_of(found: Corpus) -> list[Pair]:
    return [Pair(row.source, row.target) for row in found.rows()]


def batches(config: Experiment, cache: Path) -> TrainingBatches:
    found = Corpus(config, print)
    return TrainingBatches(found, *found.fit_tokenizers(), cache)


def test_without_dev_data_a_tenth_of_the_sources_is_held_out(tmp_path):
    path = write(tmp_path / "t.tsv", "".join(f"{source}\t{target}\n" for source, target in PAIRS))
    found, said = corpus(load_experiment({"data": {"train": path}}))
    assert said == ["no dev data given: 6 training pairs are held out for it"]
    assert sorted(pairs_of(found) + found.dev) == sorted(PAIRS)
    assert not {pair.source for pair in pairs_of(found)} & {pair.source for pair in found.dev}
    again, _ = corpus(load_experiment({"data": {"train": path}}))
    assert (pairs_of(again), again.dev) == (pairs_of(found), found.dev)


def test_sources_that_are_read_alike_are_held_out_together(tmp_path):
    """Each stands there composed, decomposed, and with spaces that the tokenizer may not see."""
    alike = [[f"\u00e9 {number}", f"e\u0301 {number}", f"\u00e9  {number} "] for number in range(30)]
    path = write(tmp_path / "t.tsv", "".join(f"{source}\tx\n" for group in alike for source in group))
    found, said = corpus(load_experiment({"data": {"train": path}}))
    assert said == ["no dev data given: 9 training pairs are held out for it"]
    dev, trained = ({pair.source for pair in pairs} for pairs in (found.dev, pairs_of(found)))
    assert all(set(group) <= dev or set(group) <= trained for group in alike)


def hold_out(sources: list[str], seed: int = 1) -> list[str]:
    smallest = SmallestSources(seed)
    for source in sources:
        smallest.add(source)
    chosen = smallest.held_out()
    return [source for source in dict.fromkeys(sources) if source in chosen]


def test_what_is_held_out_depends_on_sources_and_seed_alone():
    sources = [str(number) for number in range(200)]
    assert hold_out(sources) == sorted(hold_out([*sources[::-1], *sources]), key=int)
    assert hold_out(sources) != hold_out(sources, 2)
    assert set(hold_out(sources)) - {"3"} <= set(hold_out(sources[:3] + sources[4:]) + hold_out(sources))


@pytest.mark.parametrize(("sources", "count"), [(10, 1), (19, 1), (20, 2), (9999, 999), (20000, 1000)])
def test_a_tenth_but_no_more_than_a_thousand(sources, count):
    assert len(hold_out([str(number) for number in range(sources)])) == count


def test_what_is_kept_to_choose_from_does_not_grow_with_the_sources():
    smallest = SmallestSources(1)
    for number in range(30_000):
        smallest.add(str(number))
    assert len(smallest.heap) == len(smallest.known) == smallest.most == 10_000
    hashes = sorted(smallest.hash(str(number)) for number in range(30_000))
    assert smallest.held_out().threshold == hashes[999]


def test_too_few_sources_hold_none_out():
    with pytest.raises(DataError, match="expected dev data, or at least 10 sources to hold some out; got 9"):
        hold_out([str(number % 9) for number in range(100)])


def test_dev_data_that_is_named_is_used():
    found, said = corpus(experiment())
    assert (len(pairs_of(found)), len(found.dev), said) == (60, 6, [])


def test_what_was_skipped_is_said_and_nothing_at_all_refused(tmp_path):
    path = write(tmp_path / "t.tsv", "a\tb\n\tc\n \td\ne\tf\n")
    found, said = corpus(load_experiment({"data": {"train": path, "dev": path}}))
    assert pairs_of(found) == [Pair("a", "b"), Pair("e", "f")]
    assert said[:2] == [
        f"data.{part}: skipped 2 of 4 pairs with a blank side (lines 2, 3)" for part in ("dev", "train")
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


def ids(config: Experiment, cache: Path, epoch: int, position: int = 0) -> list[list[list[int]]]:
    return [batch.source.tokens.tolist() for batch in batches(config, cache)(epoch, position)]


@pytest.mark.parametrize("workers", [0, 2])
def test_an_epoch_can_be_entered_anywhere_by_any_number_of_workers(tmp_path, workers):
    whole = ids(experiment(), tmp_path / "cache", 3)
    config = experiment(f"train.workers={workers}")
    assert len(whole) == batches(config, tmp_path / "cache").per_epoch == 4
    for position in range(5):
        assert ids(config, tmp_path / "cache", 3, position) == whole[position:]


@pytest.mark.parametrize("fresh", [False, True])
def test_epochs_hold_the_same_pairs_unless_they_are_fresh(tmp_path, fresh):
    config = experiment(f"data.train.fresh={str(fresh).lower()}", "data.train.length=6")
    first, second = (
        sorted(row for batch in ids(config, tmp_path, epoch) for row in batch) for epoch in (0, 1)
    )
    assert (first == second) is not fresh
    assert ids(config, tmp_path, 1) == ids(config, tmp_path, 1)


def test_tokens_outside_the_vocabulary_are_counted_aloud(tmp_path):
    path = write(tmp_path / "t.tsv", "a b\tx\nb c\tx\n")
    tree = {"data": {"train": path, "dev": path}, "tokenizer": {"source": {"name": "word", "max_size": 1}}}
    found, said = corpus(load_experiment(tree))
    TrainingBatches(found, *found.fit_tokenizers(), tmp_path / "cache")
    assert said[1:] == ["2 of 4 source tokens to train on are not in the vocabulary"]


def ten_pairs(folder: Path) -> str:
    """Ten pairs, of which the fourth has a source of 300 symbols and the sixth a target of 7."""
    rows = [f"{'abcdefghij'[number]}\tx" for number in range(10)]
    rows[3], rows[5] = f"{'d' * 300}\tx", f"f\t{'y' * 7}"
    return write(folder / "ten.tsv", "".join(f"{row}\n" for row in rows))


def trained_on(batches: TrainingBatches) -> int:
    return sum(len(batch.target) for batch in batches(0, 0))


def test_DAT_16_over_long_pairs_are_left_out_of_training_alone_and_said(tmp_path):
    path = ten_pairs(tmp_path)
    data = {"train": path, "dev": path, "test": path, "max_source_length": 100}
    found, said = corpus(load_experiment({"data": data}))
    assert (len(pairs_of(found)), len(found.dev)) == (10, 10)
    said.clear()
    made = TrainingBatches(found, *found.fit_tokenizers(), tmp_path / "cache")
    assert said == ["data.train: 1 of 10 skipped: source longer than 100 (line 4)"]
    assert len(made.index) == trained_on(made) == 9
    for part in ("dev", "test"):
        assert len(read(require(found.experiment, part), part, said.append).pairs) == 10
    assert len(said) == 1


def test_DAT_16_every_symbol_that_was_read_is_in_the_vocabulary(tmp_path):
    data = {"train": ten_pairs(tmp_path), "dev": ten_pairs(tmp_path), "max_target_length": 6}
    found, _ = corpus(load_experiment({"data": data}))
    assert "y" in found.fit_tokenizers()[1].state()["symbols"]


@pytest.mark.parametrize(("limit", "kept"), [(299, 9), (300, 10), (None, 10)])
def test_DAT_16_the_end_of_the_sentence_does_not_count(tmp_path, limit, kept):
    path = ten_pairs(tmp_path)
    config = load_experiment({"data": {"train": path, "dev": path, "max_source_length": limit}})
    assert trained_on(batches(config, tmp_path / "cache")) == kept


def test_DAT_16_blank_and_over_long_pairs_are_counted_apart(tmp_path):
    path = write(tmp_path / "t.tsv", "a\tx\n\tx\nbbb\txxx\nc\t \ndd\txxxx\ne\tx\n")
    data = {"train": path, "dev": path, "max_source_length": 2, "max_target_length": 2}
    found, said = corpus(load_experiment({"data": data}))
    TrainingBatches(found, *found.fit_tokenizers(), tmp_path / "cache")
    assert "data.train: skipped 2 of 6 pairs with a blank side (lines 2, 4)" in said
    long = "2 of 4 skipped: source longer than 2 (line 3), target longer than 2 (lines 3, 5)"
    assert f"data.train: {long}" in said


def test_DAT_16_line_numbers_survive_holding_out(tmp_path):
    """With a header above, blanks between, and a tenth of the pairs gone to dev."""
    rows = [f"{number}\tx" if number % 3 else "\t" for number in range(2, 42)]
    path = write(tmp_path / "t.tsv", "n\tx\n" + "".join(f"{row}\n" for row in rows))
    data = {"train": path, "source_column": "n", "target_column": "x", "max_source_length": 1}
    found, said = corpus(load_experiment({"data": data}))
    assert all(int(row.source) == row.line for row in found.rows())
    TrainingBatches(found, *found.fit_tokenizers(), tmp_path / "cache")
    over = [row.line for row in found.rows() if row.line > 9]
    first = ", ".join(map(str, over[:5]))
    wanted = f"{len(over)} of {len(pairs_of(found))} skipped: source longer than 1 (lines {first}, …)"
    assert said[-1] == f"data.train: {wanted}"


def test_DAT_16_strict_refuses_and_nothing_left_is_refused(tmp_path):
    path = ten_pairs(tmp_path)
    data = {"train": path, "dev": path, "max_source_length": 100}
    found, _ = corpus(load_experiment({"data": data}))
    tokenizers = found.fit_tokenizers()
    rows = write(tmp_path / "d.tsv", "zz\tx\n")
    found, _ = corpus(load_experiment({"data": {**data, "dev": rows, "strict": True}}))
    with pytest.raises(
        DataError, match=r"1 of 10 skipped: source longer than 100 \(line 4\) \(data.strict is on"
    ):
        TrainingBatches(found, *tokenizers, tmp_path / "cache")
    nothing = {"train": rows, "dev": path, "max_source_length": 1, "max_target_length": 9}
    found, _ = corpus(load_experiment({"data": nothing}))
    wanted = (
        "data.train: expected at least one pair within max_source_length 1, max_target_length 9; got none"
    )
    with pytest.raises(DataError, match=wanted):
        TrainingBatches(found, *found.fit_tokenizers(), tmp_path / "cache")


def test_DAT_16_fresh_pairs_are_measured_each_epoch(tmp_path):
    limits = ["data.train.fresh=true", "data.train.length=6", "data.max_target_length=5"]
    with pytest.raises(DataError, match="within max_source_length None, max_target_length 5; got none"):
        batches(experiment(*limits), tmp_path / "a")
    made = batches(experiment("data.train.fresh=true", "data.max_source_length=3"), tmp_path / "b")
    made.limits = Limits(2, None)
    assert list(made(1, 0)) == []


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
            Corpus(experiment, said.append).survey()
    else:
        Corpus(experiment, said.append).survey()
        assert [line for line in said if wanted in line]


@pytest.mark.parametrize(
    ("form", "trained", "scored", "leaks"),
    [
        ("none", "\u00e9\tn\u0303", "e\u0301\t\u00f1", True),
        ("nfc", "\u00e9\tn\u0303", "e\u0301\t\u00f1", True),
        ("none", "a b\tx", "a  b \tx ", True),
        ("nfkc", "\ufb01\tx", "fi\tx", True),
        ("none", "\ufb01\tx", "fi\tx", False),
        ("none", "a\tx", "A\tx", False),
    ],
)
def test_DAT_17_pairs_are_the_same_where_the_model_or_the_eye_reads_them_alike(
    tmp_path, form, trained, scored, leaks
):
    data = {"train": write(tmp_path / "t.tsv", trained), "dev": write(tmp_path / "d.tsv", scored)}
    both = {"name": "char", "normal_form": form}
    tokenizer = {"source": both, "target": both}
    _, said = corpus(load_experiment({"data": data, "tokenizer": tokenizer}))
    assert said == ["dev: 1 of 1 pairs also in train: scores on them are too good"] * leaks


def test_parts_that_share_nothing_say_nothing(tmp_path):
    for number, part in enumerate(("train", "dev", "test")):
        (tmp_path / f"{part}.tsv").write_text(f"{number}\tx\n", encoding="utf-8")
    data = {part: str(tmp_path / f"{part}.tsv") for part in ("train", "dev", "test")}
    said: list[str] = []
    Corpus(load_experiment({"data": data}), said.append).survey()
    assert said == []


def test_strict_refuses_a_blank_side(tmp_path):
    (tmp_path / "train.tsv").write_text("a\t1\nb\t\n", encoding="utf-8")
    data = {"train": str(tmp_path / "train.tsv"), "strict": True}
    with pytest.raises(DataError, match=r"skipped 1 of 2 pairs with a blank side \(line 2\)"):
        Corpus(load_experiment({"data": data}), print).survey()


def test_blank_sides_of_test_data_are_reported_as_those_of_dev_are(tmp_path):
    path, blank = write(tmp_path / "t.tsv", "a\t1\n"), write(tmp_path / "b.tsv", "b\t2\nc\t\n")
    data = {"train": path, "dev": write(tmp_path / "d.tsv", "d\t3\n"), "test": blank}
    _, said = corpus(load_experiment({"data": data}))
    assert said == ["data.test: skipped 1 of 2 pairs with a blank side (line 2)"]
    with pytest.raises(DataError, match=r"data.test: skipped 1 of 2 .*\(data.strict is on\)"):
        corpus(load_experiment({"data": {**data, "strict": True}}))


def test_blank_sides_of_several_files_are_told_by_file(tmp_path):
    first, second = write(tmp_path / "a.tsv", "a\tx\n\tx\nb\tx\n"), write(tmp_path / "b.tsv", "c\tx\n\tx\n")
    whole = write(tmp_path / "c.tsv", "d\tx\n")
    _, said = corpus(load_experiment({"data": {"train": [first, second, whole], "dev": [whole, second]}}))
    assert said[:3] == [
        f"data.dev: {second}: skipped 1 of 2 pairs with a blank side (line 2)",
        f"data.train: {first}: skipped 1 of 3 pairs with a blank side (line 2)",
        f"data.train: {second}: skipped 1 of 2 pairs with a blank side (line 2)",
    ]


def test_the_cache_is_built_once_and_serves_as_long_as_nothing_changes(tmp_path, monkeypatch):
    path = write(tmp_path / "t.tsv", "".join(f"{source}\t{target}\n" for source, target in PAIRS))
    config, cache = load_experiment({"data": {"train": path}}), tmp_path / "cache"
    first, said = corpus(config)
    tokenizers = first.fit_tokenizers()
    built = TrainingBatches(first, *tokenizers, cache)
    again = Corpus(config, pytest.fail)
    monkeypatch.setattr(again, "survey", lambda: pytest.fail("read again"))
    mapped = TrainingBatches(again, *tokenizers, cache)
    assert (mapped.key, mapped.spans, again.dev) == (built.key, built.spans, first.dev)
    assert [b.target.tolist() for b in mapped(1, 0)] == [b.target.tolist() for b in built(1, 0)]
    monkeypatch.undo()
    said.clear()
    write(tmp_path / "t.tsv", "".join(f"{source}\t{target}z\n" for source, target in PAIRS))
    changed = Corpus(config, said.append)
    rebuilt = TrainingBatches(changed, *tokenizers, cache)
    assert rebuilt.key != built.key
    assert [path.name for path in cache.iterdir()] == [rebuilt.key]
    assert "target tokens to train on are not in the vocabulary" in said[1]


def test_a_half_built_cache_is_built_again(tmp_path, monkeypatch):
    config, cache = experiment(), tmp_path / "cache"
    found = Corpus(config, print)
    tokenizers = found.fit_tokenizers()
    monkeypatch.setattr("transduce.run.training_data.os.replace", lambda old, new: pytest.exit("killed", 1))
    with pytest.raises(pytest.exit.Exception):
        TrainingBatches(found, *tokenizers, cache)
    monkeypatch.undo()
    made = TrainingBatches(Corpus(config, print), *tokenizers, cache)
    assert [path.name for path in cache.iterdir()] == [made.key]
    assert trained_on(made) == 60


def test_a_cache_that_cannot_be_written_does_not_fill_the_disk(tmp_path, monkeypatch):
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("transduce.run.training_data.write_file", full)
    with pytest.raises(OSError, match="No space left"):
        batches(experiment(), tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


CACHED = ("facts.json", *(f"{side}.{part}" for side in ("source", "target") for part in ("ids", "starts")))


@pytest.mark.parametrize("name", CACHED)
@pytest.mark.parametrize("damage", ["empty", "half", "missing"])
def test_a_damaged_cache_is_said_and_built_again(tmp_path, name, damage):
    config, cache = experiment(), tmp_path / "cache"
    found = Corpus(config, print)
    tokenizers = found.fit_tokenizers()
    built = TrainingBatches(found, *tokenizers, cache)
    wanted = [batch.target.tolist() for batch in built(1, 0)]
    path = cache / built.key / name
    whole = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes(whole[: len(whole) // 2 if damage == "half" else 0])
    said: list[str] = []
    again = TrainingBatches(Corpus(config, said.append), *tokenizers, cache)
    assert said[0].startswith(str(cache / built.key))
    assert said[0].endswith("; the training data are encoded anew")
    assert [batch.target.tolist() for batch in again(1, 0)] == wanted
    assert path.read_bytes() == whole


def test_a_cache_of_fewer_pairs_than_it_tells_of_is_built_again(tmp_path):
    config, cache = experiment(), tmp_path / "cache"
    found = Corpus(config, print)
    tokenizers = found.fit_tokenizers()
    folder = cache / TrainingBatches(found, *tokenizers, cache).key
    for side in ("source", "target"):
        for part in ("ids", "starts"):
            (folder / f"{side}.{part}").write_bytes(b"" if part == "ids" else bytes(8))
    said: list[str] = []
    assert trained_on(TrainingBatches(Corpus(config, said.append), *tokenizers, cache)) == 60
    assert "damaged; its files hold [0, 60] pairs" in said[0]


def test_members_of_a_mix_are_spans_with_their_weights(tmp_path):
    first, second = write(tmp_path / "a.tsv", "a\tx\n\tx\nb\tx\n"), write(tmp_path / "b.tsv", "c\tx\n")
    train = [first, {"path": second, "weight": 3}]
    made = batches(load_experiment({"data": {"train": train, "dev": second}}), tmp_path / "cache")
    assert [tuple(span) for span in made.spans] == [(0, 2, 1.0), (2, 1, 3)]
    assert trained_on(made) == 5
