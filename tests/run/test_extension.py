"""A run that starts from another one and learns new symbols."""

from pathlib import Path

import pytest
import torch

from tests.tiny import experiment
from transduce.errors import CheckpointError, ConfigError
from transduce.experiment import Experiment
from transduce.run.train import train_run
from transduce.run.verify import verify_resume
from transduce.training.checkpoint import read_tensors
from transduce.training.extension import load_extended
from transduce.translator import Translator
from transduce.types import PAD, SPECIALS, UNK

OLD, NEW = ["a b", "b c", "c a b", "a c", "b a", "c"], ["a x", "y b x", "c y"]
SHAPES = {
    "untied": (),
    "three-way": (
        "model.decoder.tied=true",
        "model.share_embeddings=true",
        "tokenizer.shared=true",
    ),
}
SIDES = ("encoder.embedding.table.weight", "decoder.embedding.table.weight")


def write(path: Path, sources: list[str], mark: str = "") -> str:
    path.write_text("".join(f"{line}\t{line[::-1]}{mark}\n" for line in sources), encoding="utf-8")
    return str(path)


def of(path: str, *options: str) -> Experiment:
    plan = ("train.updates=60", "train.validate_every=60")
    return experiment(f"data={{train: {path}, dev: {path}, test: {path}}}", *plan, *options)


@pytest.fixture(scope="module")
def started(tmp_path_factory) -> dict[str, Path]:
    """Runs that know a, b and c well, one for each way to share tables."""
    folder = tmp_path_factory.mktemp("old")
    path = write(folder / "old.tsv", OLD)
    for name, options in SHAPES.items():
        train_run(of(path, *options), folder / name)
    return {name: folder / name for name in SHAPES}


def extended(folder: Path, path: str, *options: str, updates: int = 1, lr: float = 0.0) -> Experiment:
    more = ("train.extend_vocabulary=true", f"train.updates={updates}", f"train.optimizer.lr={lr}")
    return of(path, f"train.start_from={folder}", *more, *options)


@pytest.mark.parametrize("name", SHAPES)
def test_old_sentences_translate_as_before_and_new_symbols_have_ids(started, tmp_path, name):
    said: list[str] = []
    path = write(tmp_path / "new.tsv", NEW, mark=" z")
    config = extended(started[name], path, *SHAPES[name])
    new, old = train_run(config, tmp_path / "run", say=said.append), Translator.load(started[name])
    counts = (
        "3 source symbols added to 7, 3 target symbols added to 7"
        if name == "three-way"
        else "2 source symbols added to 7, 3 target symbols added to 7"
    )
    assert f"starts from the model of {started[name]}, its vocabularies extended: {counts}" in said
    for tokenizer, before in (
        (new.source_tokenizer, old.source_tokenizer),
        (new.target_tokenizer, old.target_tokenizer),
    ):
        assert tokenizer.state()["symbols"][:3] == before.state()["symbols"]
        assert UNK not in tokenizer.encode("a b c x y").ids
    translated, before = new.translate(OLD), old.translate(OLD)
    assert [t.text for t in translated] == [t.text for t in before]
    assert len({t.text for t in before}) > 2


@pytest.mark.parametrize("name", SHAPES)
def test_old_rows_are_copied_and_new_ones_freshly_made(started, tmp_path, name):
    path = write(tmp_path / "new.tsv", NEW, mark=" z")
    new = train_run(extended(started[name], path, *SHAPES[name]), tmp_path / "run").model
    before = read_tensors(started[name] / "model.safetensors")
    after = read_tensors(tmp_path / "run/model.safetensors")
    assert before.keys() == after.keys()
    grown = []
    for key, tensor in before.items():
        assert torch.equal(after[key][: len(tensor)], tensor), key
        if len(after[key]) > len(tensor):
            grown.append(key)
            fresh = after[key][len(tensor) :]
            assert fresh.unique().numel() == fresh.numel()
            assert fresh.std() > 0
    wanted = {"untied": 4, "three-way": 2}  # tables, output rows, output biases
    assert len(grown) == wanted[name]
    source, target = (new.get_parameter(side) for side in SIDES)
    assert (new.get_parameter("decoder.output.weight") is target) == (name != "untied")
    assert (source is target) == (name == "three-way")
    assert name == "three-way" or not source[PAD].any()


def test_a_run_that_was_extended_learns_the_new_symbols_and_stays_tied(started, tmp_path):
    path = write(tmp_path / "new.tsv", [*OLD, *NEW])
    config = extended(started["three-way"], path, *SHAPES["three-way"], updates=60, lr=0.03)
    model = train_run(config, tmp_path / "run")
    assert model.score(["a x"], ["x a"])[0] > -2.0
    source, target = (model.model.get_parameter(side) for side in SIDES)
    assert source is target is model.model.get_parameter("decoder.output.weight")


def test_it_resumes_bit_for_bit(started, tmp_path):
    path = write(tmp_path / "new.tsv", [*OLD, *NEW])
    config = extended(started["three-way"], path, *SHAPES["three-way"], lr=0.02)
    assert verify_resume(config, updates=6).startswith("resumed at update 3 of 6")


def test_without_the_option_new_symbols_stay_unknown(started, tmp_path):
    said: list[str] = []
    path = write(tmp_path / "new.tsv", NEW)
    config = of(path, f"train.start_from={started['untied']}", "train.updates=1")
    model = train_run(config, tmp_path / "run", say=said.append)
    assert model.source_tokenizer.vocab_size == SPECIALS + 3
    assert any("source tokens to train on are not in the vocabulary" in line for line in said)


@pytest.mark.parametrize(
    "option", ["tokenizer.source=char", "tokenizer.target={name: word, normal_form: nfc}"]
)
def test_other_tokenizers_than_those_of_the_run_are_refused(started, tmp_path, option):
    path = write(tmp_path / "new.tsv", NEW)
    config = of(path, f"train.start_from={started['untied']}", option)
    with pytest.raises(
        ConfigError, match=r"train.start_from: .* reads with .*; tokenizer: expected the same"
    ):
        train_run(config, tmp_path / "run")


def test_options_for_training_alone_may_differ_from_those_of_the_run(tmp_path):
    path = write(tmp_path / "t.tsv", ["low lower", "lower lowest", "newer lower"] * 3)
    plain, drawing = (f"tokenizer.source={{name: bpe, dropout: {rate}}}" for rate in (0.0, 0.4))
    train_run(of(path, plain, "train.updates=1"), tmp_path / "old")
    more = of(path, drawing, f"train.start_from={tmp_path / 'old'}", "train.updates=2")
    assert verify_resume(more, updates=6).startswith("resumed at update 3 of 6")
    model = train_run(more, tmp_path / "new")
    assert model.source_tokenizer.sampler is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "train.extend_vocabulary: true needs train.start_from; got null"),
        (
            ("train.start_from=runs/a", "tokenizer.target=bpe"),
            r"train.extend_vocabulary: true needs .*; got tokenizer.target: bpe",
        ),
    ],
)
def test_extensions_that_cannot_be_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        experiment("train.extend_vocabulary=true", *options)


def test_another_architecture_cannot_be_extended_from_a_model(started, tmp_path):
    path = write(tmp_path / "new.tsv", NEW)
    config = extended(started["untied"], path, "model.encoder.width=6")
    with pytest.raises(
        CheckpointError, match=r"does not fit its configuration, vocabularies aside; \d+ tensors"
    ):
        train_run(config, tmp_path / "run")


def test_only_a_vocabulary_may_have_grown(started):
    path = started["untied"] / "model.safetensors"
    vocabularies = read_tensors(path)[SIDES[0]].shape[0]
    model = of("t.tsv").model.build(vocabularies + 2, vocabularies + 2)
    with pytest.raises(CheckpointError, match=r"4 tensors differ, first '(de|en)coder"):
        load_extended(path, model, {(vocabularies, vocabularies + 1)})
    load_extended(path, model, {(vocabularies, vocabularies + 2)})
