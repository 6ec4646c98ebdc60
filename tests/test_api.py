"""What `import transduce` gives, and that it gives it at once."""

import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import transduce
from tests.tiny import settings
from tests.unsafe import traps
from transduce.errors import CheckpointError, ConfigError, DataError
from transduce.metrics import measure

TEXTS = ["0 1 2", "3", "2 2 1"]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("api") / "run"
    transduce.train(settings(), run=folder)
    return folder


def test_importing_it_is_instant_and_it_lists_its_names():
    names = "transduce.__all__, dir(transduce), {'torch', 'numpy'} & set(sys.modules)"
    script = f"import sys, transduce; print({names})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("['Translation', 'Translator', 'load', 'train'] ")
    assert done.stdout.endswith(" set()\n")
    for name in transduce.__all__:
        assert getattr(transduce, name).__name__ == name
        assert name in dir(transduce)
    with pytest.raises(AttributeError, match="module 'transduce' has no attribute 'lode'"):
        _ = transduce.lode


def test_one_text_gives_one_translation_and_a_list_a_list(run):
    model = transduce.load(run)
    one = model.translate(TEXTS[0])
    assert isinstance(one, transduce.Translation)
    assert isinstance(model, transduce.Translator)
    many = model.translate(TEXTS)
    assert [result.source for result in many] == TEXTS
    assert many[0].text == one.text
    assert many[0].log_prob == pytest.approx(one.log_prob, abs=1e-5)
    assert model.translate([]) == []
    assert [result.text for result in model.translate(["3"])] == [many[1].text]


def test_a_translation_tells_how_it_came_about(run):
    model = transduce.load(str(run))
    result = model.translate(TEXTS[0], search=model.searcher(width=2, n_best=2))
    assert result.source_tokens == ["0", "1", "2", "</s>"]
    assert result.attention.shape == (len(result.tokens), 4)
    np.testing.assert_allclose(result.attention.sum(axis=1), 1, atol=1e-5)
    assert result.log_prob == pytest.approx(sum(result.token_log_probs), abs=1e-5)
    assert result.score == pytest.approx(result.log_prob / len(result.tokens) ** 0.7, abs=1e-5)
    assert len(result.n_best) == 2
    assert result.n_best[0].text == result.text
    assert result.n_best[0].score >= result.n_best[1].score
    assert "attention" not in repr(result)
    assert model.translate(TEXTS[0], attention=False).attention is None
    assert model.translate("").text == ""
    assert model.translate(" ").attention.shape == (0, 0)


def test_BAT_13_dropout_is_off_and_calls_repeat(run):
    model = transduce.load(run)
    for call in (lambda: model.translate(TEXTS), lambda: model.score(TEXTS, TEXTS)):
        model.model.train()
        first = call()
        assert not model.model.training
        assert call() == first


def test_scores_are_sums_and_forced_scores_are_the_searches(run):
    model = transduce.load(run)
    results = [result for result in model.translate(TEXTS) if result.finished]
    scores = model.score([result.source for result in results], [result.text for result in results])
    assert scores == pytest.approx([result.log_prob for result in results], abs=1e-4)
    assert model.score([], []) == []
    assert model.score(["0"], [""])[0] < 0


def test_lists_that_do_not_match_and_sources_without_text_are_refused(run):
    model = transduce.load(run)
    with pytest.raises(DataError, match="expected as many sources as targets; got 2 and 1"):
        model.score(["a", "b"], ["a"])
    with pytest.raises(DataError, match=r"expected a source in every pair; pairs \[2\] have a blank one"):
        model.score(["0", " "], ["0", "1"])
    for call in (
        lambda: model.score(["0"], ["0"], batch_size=0),
        lambda: model.translate(["0"], batch_size=0),
    ):
        with pytest.raises(ConfigError, match="batch_size: expected at least 1; got 0"):
            call()


def test_a_saved_model_is_the_same_anywhere(run, tmp_path):
    model = transduce.load(run)
    model.save(tmp_path / "a/copy")
    moved = shutil.move(tmp_path / "a/copy", tmp_path / "moved")
    again = transduce.load(moved)
    assert again.translate(TEXTS) == model.translate(TEXTS)
    assert again.score(TEXTS, TEXTS) == model.score(TEXTS, TEXTS)
    assert again.experiment == model.experiment
    names = {"config.yaml", "model.safetensors", "tokenizer.source.json", "tokenizer.target.json"}
    assert {path.name for path in Path(moved).iterdir()} == names
    for name in names:
        assert (Path(moved) / name).read_bytes() == (run / name).read_bytes()


def test_training_takes_files_recipes_and_mappings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from transduce.config import dump_yaml

    (tmp_path / "mine.yaml").write_text(dump_yaml({**settings(), "name": "mine"}), encoding="utf-8")
    small = ("train.updates=2", "train.validate_every=2")
    first = transduce.train(Path("mine.yaml"), *small)
    assert (tmp_path / "runs/mine/model.safetensors").is_file()
    second = transduce.train(settings(), *small, run=tmp_path / "other")
    assert second.translate(TEXTS) == first.translate(TEXTS)
    recipe = transduce.train("copy-reverse", *small, "data.dev.size=4", run="recipe")
    assert recipe.experiment.train.updates == 2
    with pytest.raises(ConfigError, match="another experiment"):
        transduce.train(settings(), *small, "seed=2", run=tmp_path / "other")
    transduce.train(settings(), *small, "seed=2", run=tmp_path / "other", overwrite=True)


def test_a_folder_that_is_no_run_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=f"{tmp_path}: expected a run folder; it has no config.yaml"):
        transduce.load(tmp_path)


@pytest.mark.parametrize(
    "name", ["model.safetensors", "tokenizer.source.json", "tokenizer.target.json", "config.yaml"]
)
def test_CKP_11_loading_a_run_runs_no_code(run, tmp_path, name):
    folder = Path(shutil.copytree(run, tmp_path / "run"))
    tag = f"!!python/object/apply:os.mkdir ['{tmp_path / 'marker'}']".encode()
    contents = [*traps(tmp_path / "marker").values(), tag, b"name: " + tag]
    for content in contents:
        (folder / name).write_bytes(content)
        with pytest.raises((CheckpointError, ConfigError)) as caught:
            transduce.load(folder)
        assert str(folder / name) in str(caught.value)
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.source.json", "tokenizer.target.json"])
def test_a_file_that_is_missing_or_of_another_model_is_named(run, tmp_path, name):
    folder = Path(shutil.copytree(run, tmp_path / "run"))
    other = transduce.train(settings("data.train.symbols=7", "train.updates=1"), run=tmp_path / "other")
    assert other.source_tokenizer.vocab_size == 11
    shutil.copy(tmp_path / "other" / name, folder / name)
    with pytest.raises(
        CheckpointError, match=r"model.safetensors: does not fit its configuration; .*embedding"
    ):
        transduce.load(folder)
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        transduce.load(folder)


@pytest.mark.parametrize(("accuracy", "exact"), [(0.99, 0.8179), (0.95, 0.3585), (0.90, 0.1216)])
def test_twenty_tokens_right_is_another_thing_than_one(accuracy, exact):
    assert accuracy**20 == pytest.approx(exact, abs=5e-5)
    rng = random.Random(1)
    references = [" ".join("ab"[rng.random() < 0.5] for _ in range(20)) for _ in range(4000)]
    hypotheses = [
        " ".join(word if rng.random() < accuracy else "x" for word in line.split(" ")) for line in references
    ]
    scores = measure(["exact_match", "token_accuracy"], hypotheses, references)
    assert scores["token_accuracy"].value == pytest.approx(accuracy, abs=0.005)
    assert scores["exact_match"].value == pytest.approx(exact, abs=0.02)
