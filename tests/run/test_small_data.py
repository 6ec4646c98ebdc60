"""Options that help on small data, over whole runs: what is trained on, and that runs resume bit for bit."""

import gzip
import re
from pathlib import Path

import pytest
import torch

from tests.tiny import experiment
from transduce.data.batch import Batch
from transduce.errors import ConfigError, DataError
from transduce.experiment import Experiment, load_experiment
from transduce.run.corpus import Corpus
from transduce.run.train import train_run
from transduce.run.training_data import TrainingBatches
from transduce.run.verify import verify_resume
from transduce.types import SPECIALS

WORDS = ["low", "lower", "lowest", "new", "newer", "newest", "wide", "wider", "widest", "slow"]
LINES = [(f"{a} {b}", f"{b} {a} {a}") for a in WORDS for b in WORDS if a != b][:48]
LINKS = "1-0 0-1 0-2"
SUBWORDS = (
    "tokenizer.source={name: bpe, dropout: 0.3, vocab_size: 40}",
    "tokenizer.target={name: unigram, sample: {alpha: 0.2}, vocab_size: 40}",
)


@pytest.fixture
def data(tmp_path) -> tuple[str, ...]:
    train, dev, links = tmp_path / "train.tsv", tmp_path / "dev.tsv", tmp_path / "train.links.gz"
    train.write_text("".join(f"{source}\t{target}\n" for source, target in LINES), encoding="utf-8")
    dev.write_text("low slow\tslow low low\n", encoding="utf-8")
    with gzip.open(links, "wt", encoding="utf-8") as file:
        file.write(f"{LINKS}\n" * len(LINES))
    return f"data.train={train}", f"data.dev={dev}", f"data.test={dev}"


def guided(tmp_path: Path, *, links: str = "train.links.gz") -> tuple[str, ...]:
    return f"data.alignments={tmp_path / links}", "train.guided_attention=0.5"


def batches(config: Experiment, cache: Path) -> TrainingBatches:
    corpus = Corpus(config, print)
    return TrainingBatches(corpus, *corpus.fit_tokenizers(), cache)


@pytest.mark.parametrize("workers", [0, 2])
def test_drawn_segmentations_and_a_curriculum_resume_bit_for_bit(data, workers):
    options = (*SUBWORDS, "train.curriculum={updates: 8, start: 0.2}", f"train.workers={workers}")
    config = experiment(*data, *options, "train.batch_pairs=8")
    assert verify_resume(config, updates=10).startswith("resumed at update 5 of 10")


@pytest.mark.parametrize("workers", [0, 2])
def test_guided_attention_resumes_bit_for_bit(data, tmp_path, workers):
    config = experiment(*data, *guided(tmp_path), f"train.workers={workers}")
    assert verify_resume(config, updates=8).startswith("resumed at update 4 of 8")


def texts(made: TrainingBatches, epoch: int) -> list[tuple[str, str, int]]:
    """Source and target text of each row of an epoch, and the number of its ids."""
    found = []
    for batch in made(epoch, 0):
        for source, mask, target, real in zip(
            batch.source.tokens, batch.source.mask, batch.target, batch.target_mask, strict=True
        ):
            sides = source[mask].tolist()[:-1], target[real].tolist()[:-1]
            text = (tokenizer.decode(ids) for tokenizer, ids in zip(made.tokenizers, sides, strict=True))
            found.append((*text, len(sides[0]) + len(sides[1])))
    return found


def test_each_epoch_segments_the_same_texts_anew(data, tmp_path):
    made = batches(experiment(*data, *SUBWORDS), tmp_path / "cache")
    first, again, second = texts(made, 0), texts(made, 0), texts(made, 1)
    assert first == again
    assert sorted(row[:2] for row in first) == sorted(row[:2] for row in second) == sorted(LINES)
    lengths = [sum(length for *_, length in epoch) for epoch in (first, second)]
    assert lengths[0] != lengths[1]
    assert min(lengths) > len(made.index.source.ids) + len(made.index.target.ids)


def test_early_epochs_take_the_shortest_pairs(data, tmp_path):
    config = experiment(*data, "tokenizer.source=char", "train.curriculum={updates: 6, start: 0.25}")
    made = batches(config, tmp_path / "cache")
    epochs = [texts(made, epoch) for epoch in range(8)]
    lengths = sorted(length for *_, length in epochs[-1])
    assert sorted(length for *_, length in epochs[0]) == [n for n in lengths if n <= lengths[11]]
    assert [len(epoch) for epoch in epochs[-2:]] == [48, 48]
    assert made.per_epoch == 3
    train_run(config, tmp_path / "run")


def aligned(config: Experiment, cache: Path) -> list[Batch]:
    return list(batches(config, cache)(0, 0))


@pytest.mark.parametrize("kinds", [("word", "word"), ("char", "bpe")])
def test_links_of_words_are_spread_over_their_tokens(data, tmp_path, kinds):
    sides = (f"tokenizer.{side}={kind}" for side, kind in zip(("source", "target"), kinds, strict=True))
    made = batches(experiment(*data, *sides, *guided(tmp_path)), tmp_path / "cache")
    seen = 0
    for batch in made(0, 0):
        assert batch.alignment is not None
        for row, source in enumerate(batch.source.tokens.tolist()):
            read = [made.tokenizers[0].token(i) if i >= SPECIALS else "" for i in source]
            written = [
                made.tokenizers[1].token(i) if i >= SPECIALS else "" for i in batch.target[row].tolist()
            ]
            joined = " ".join if kinds[1] == "word" else "".join
            second = "".join if kinds[0] == "char" else " ".join
            for token, weights in zip(written, batch.alignment[row], strict=True):
                if not token.strip():
                    assert not weights.any()
                    continue
                word = second(read[place] for place in weights.nonzero().flatten().tolist())
                assert token.strip() in word  # a target word is its source word here
                assert word in WORDS
                assert weights.sum().item() == pytest.approx(1, abs=1e-6)
                seen += 1
            assert joined(written).strip() in dict(LINES).values()
    assert seen >= 3 * len(LINES)


def test_rows_that_are_not_trained_on_take_their_lines_along(tmp_path):
    """A header, a blank side, an over-long pair, and what is held out: each other row keeps its own links."""
    rows = [(f"s{number} x", f"t{number} y") for number in range(30)]
    rows[3], rows[7] = ("", "t3"), ("a b c d e f", "t7")
    lines = [f"{number % 2}-{number // 2 % 2}" for number in range(30)]
    lines[3], lines[7] = "", "5-0"
    path, links = tmp_path / "t.tsv", tmp_path / "t.links"
    path.write_text("\n".join(["en\tte", *map("\t".join, rows)]), encoding="utf-8")
    links.write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = experiment(
        f"data={{train: {path}, dev: null, test: null, max_source_length: 5}}",
        "data={source_column: en, target_column: te}",
        *guided(tmp_path, links="t.links"),
    )
    made = batches(config, tmp_path / "cache")
    assert made.links is not None
    source, found = made.tokenizers[0], {}
    for row in range(len(made.index)):
        number = int(source.decode(made.index.source.row(row).tolist()).split(" ")[0][1:])
        found[number] = made.links.row(row).tolist()
    assert 20 < len(found) < 28
    assert found == {number: [number // 2 % 2, number % 2] for number in found}


def test_a_line_too_few_or_too_many_names_both_files(data, tmp_path):
    train = re.escape(data[0].removeprefix("data.train="))
    for count in (47, 49):
        (tmp_path / "some").write_text("0-0\n" * count, encoding="utf-8")
        with pytest.raises(
            DataError,
            match=rf"alignments: expected a line for each of the 48 lines of {train}; .*some has {count}$",
        ):
            aligned(experiment(*data, *guided(tmp_path, links="some")), tmp_path / "cache")
    assert not any(path.name == "facts.json" for path in (tmp_path / "cache").rglob("*"))


@pytest.mark.parametrize(
    ("line", "fault"), [("0-0 oops", "expected links such as 0-0"), ("2-0", "expected links of 2 source")]
)
def test_a_bad_line_is_named(data, tmp_path, line, fault):
    (tmp_path / "bad").write_text(f"{LINKS}\n{line}\n" + "0-0\n" * 46, encoding="utf-8")
    with pytest.raises(DataError, match=f"bad:2: {fault}"):
        aligned(experiment(*data, *guided(tmp_path, links="bad")), tmp_path / "cache")


def test_alignments_named_in_a_file_are_looked_for_beside_it(tmp_path):
    text = "data: {train: t.tsv, alignments: links/t.gz}\ntrain: {guided_attention: 1.0}\n"
    (tmp_path / "plan.yaml").write_text(text, encoding="utf-8")
    data = load_experiment(str(tmp_path / "plan.yaml")).data
    assert data.alignments == str(tmp_path / "links/t.gz")
    assert data.train.options["path"] == str(tmp_path / "t.tsv")


def test_changed_alignments_are_read_again(data, tmp_path):
    (tmp_path / "links").write_text("0-0\n" * 48, encoding="utf-8")
    config = experiment(*data, *guided(tmp_path, links="links"))
    first = aligned(config, tmp_path / "cache")
    (tmp_path / "links").write_text("1-0\n" * 48, encoding="utf-8")
    second = aligned(config, tmp_path / "cache")
    for before, after in zip(first, second, strict=True):
        assert before.alignment is not None
        assert after.alignment is not None
        assert torch.equal(before.target, after.target)
        assert not torch.equal(before.alignment, after.alignment)


def test_alignments_of_what_changes_each_epoch_are_refused(data, tmp_path):
    for side, option in zip(("source", "target"), SUBWORDS, strict=True):
        name = option.split("name: ")[1].split(",")[0]
        with pytest.raises(
            ConfigError, match=rf"data.alignments: .*gz cannot go with tokenizer.{side} {name} \("
        ):
            aligned(experiment(*data, option, *guided(tmp_path)), tmp_path / "cache")
    fresh = "data.train={name: copy_reverse, length: 3, symbols: 4, size: 48, fresh: true}"
    with pytest.raises(ConfigError, match=r"data.alignments: .* cannot go with data.train.fresh: true"):
        aligned(experiment(*data[1:], fresh, *guided(tmp_path)), tmp_path / "cache")


def test_a_model_without_attention_is_refused_before_it_is_trained(data, tmp_path):
    options = (*guided(tmp_path), "model.decoder.attention=none")
    with pytest.raises(ConfigError, match=r"train.guided_attention 0.5 .* model.decoder.attention"):
        train_run(experiment(*data, *options), tmp_path / "run")


@pytest.mark.parametrize(
    "options", [("train.guided_attention=0.5",), ("data.alignments=links",)], ids=["guided", "aligned"]
)
def test_guidance_and_alignments_need_each_other(options):
    with pytest.raises(
        ConfigError, match=r"guided_attention above 0 and data.alignments need each other; got"
    ):
        experiment(*options)
