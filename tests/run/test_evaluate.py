"""Evaluation is one function, in training and after it."""

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.tiny import settings
from transduce.config import Spec
from transduce.data.index import Index, Ragged
from transduce.data.pairs import Pair
from transduce.errors import DataError
from transduce.experiment import load_experiment
from transduce.metrics import Metric
from transduce.model import Seq2Seq
from transduce.run import evaluate, train_run
from transduce.run.evaluate import describe, read_pairs, teacher_forced
from transduce.run.outputs import Outputs, decode_pairs
from transduce.search import Search
from transduce.translation import Translation
from transduce.translator import Translator
from transduce.types import Output

MODELS: dict[str, dict[str, Any]] = {
    "gru+additive": {"encoder": {"cell": "gru"}, "decoder": {"cell": "gru", "attend": "before"}},
    "lstm+dot": {
        "encoder": {"cell": "lstm", "bidirectional": False},
        "decoder": {"cell": "lstm", "attend": "after", "attention": "dot"},
    },
    "gru+multihead": {
        "encoder": {"cell": "gru"},
        "decoder": {
            "cell": "gru",
            "attend": "after",
            "input_feeding": False,
            "attention": {"name": "multihead", "heads": 2},
        },
    },
}


def write_pairs(path: Path, pairs: list[Pair]) -> str:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return str(path)


def words(count: int, seed: int) -> list[Pair]:
    """Copies of one to three words of three."""
    rng = random.Random(seed)
    texts = [" ".join(rng.choices("abc", k=rng.randint(1, 3))) for _ in range(count)]
    return [Pair(text, text) for text in texts]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """A run of each kind of model, whose dev data is at dev.tsv."""
    home = tmp_path_factory.mktemp("runs")
    train, dev = (
        write_pairs(home / f"{name}.tsv", words(40, seed)) for name, seed in (("train", 1), ("dev", 2))
    )
    for kind, model in MODELS.items():
        tree = settings(f"data.train={train}", f"data.dev={dev}", f"data.test={dev}", "train.updates=45")
        for side in ("encoder", "decoder"):
            tree["model"] = {**tree["model"], side: {"width": 16, "dropout": 0.1, **model[side]}}
        tree["train"] = {
            **tree["train"],
            "validate_every": 15,
            "select": "exact_match",
            "optimizer": {"lr": 0.03},
        }
        train_run(load_experiment(tree), home / kind)
    return {kind: home / kind for kind in MODELS} | {"dev": home / "dev.tsv"}


def best_validation(run: Path) -> dict[str, Any]:
    lines = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").split("\n")[:-1])
    return [line for line in lines if line["event"] == "validation" and line["improved"]][-1]


@pytest.mark.parametrize("kind", MODELS)
def test_TRN_07_the_log_of_the_best_model_is_what_evaluate_finds(runs, kind):
    logged = best_validation(runs[kind])
    model = Translator.load(runs[kind])
    search = model.experiment.train.validation_search
    assert logged["search"] == search.plain()
    found = evaluate(model, str(runs["dev"]), search=search)
    for name, metric in found["metrics"].items():
        if name == "ter":  # too slow for every validation, unless it is what selects
            continue
        assert metric["value"] == pytest.approx(logged["scores"][name], abs=1e-6), name
    assert 0 < logged["scores"]["exact_match"] < 1  # it has learnt, and not all
    forced = logged["scores"]["teacher_forced_accuracy"]
    assert forced > logged["scores"]["exact_match"]


@pytest.mark.parametrize("kind", MODELS)
def test_the_model_card_tells_the_same(runs, kind):
    card = (runs[kind] / "README.md").read_text(encoding="utf-8")
    logged = best_validation(runs[kind])
    assert f"| exact_match | {logged['scores']['exact_match']:.4g} | `exact_match\\|" in card
    assert "40 training pairs, 40 dev pairs" in card
    rows = [line.replace("\\|", "") for line in card.split("\n") if line.startswith("| ")]
    assert {row.count("|") for row in rows} == {4}
    assert f"update {logged['update']}, by exact_match" in card


def test_an_evaluation_has_the_keys_of_the_design(runs):
    model = Translator.load(runs["gru+additive"])
    found = json.loads(json.dumps(evaluate(model)))
    assert set(found) == {"examples", "metrics", "attention", "search", "model"}
    assert (found["examples"], found["model"]) == (40, "tiny")
    assert set(found["metrics"]) == set(Metric.family)
    for name, metric in found["metrics"].items():
        assert set(metric) <= {"value", "signature", "note"}
        assert isinstance(metric["value"], float)
        assert metric["signature"]
        assert name in ("bleu", "chrf", "ter") or metric["signature"].startswith(name)
    assert found["search"]["width"] == 2
    greedy = evaluate(model, search=Spec(Search, "beam", {"width": 1}))
    assert (greedy["search"]["width"], greedy["search"]["name"]) == (1, "beam")
    assert found["search"] == model.experiment.search.plain()


def test_batch_size_changes_no_figure(runs):
    model = Translator.load(runs["lstm+dot"])
    found = [evaluate(model, batch_size=size) for size in (1, 7, 40)]
    attention = [one.pop("attention") for one in found]
    assert found[0] == found[1] == found[2]
    assert attention[1:] == [pytest.approx(attention[0], abs=1e-6)] * 2


def test_another_file_is_read_in_the_columns_of_the_run(runs, tmp_path):
    model = Translator.load(runs["gru+additive"])
    path = write_pairs(tmp_path / "two.tsv", words(2, 9))
    assert evaluate(model, path)["examples"] == 2
    (tmp_path / "blank.tsv").write_text("a\ta\n\tb\n")
    said: list[str] = []
    assert evaluate(model, str(tmp_path / "blank.tsv"), say=said.append)["examples"] == 1
    assert said == [f"{tmp_path / 'blank.tsv'}: skipped 1 of 2 pairs with a blank side (line 2)"]
    with pytest.raises(DataError, match=r"none.tsv: cannot be read"):
        evaluate(model, str(tmp_path / "none.tsv"))


def test_references_are_scored_in_the_form_that_decoding_can_give(runs, monkeypatch):
    model = Translator.load(runs["gru+additive"])
    monkeypatch.setattr(model, "stream", lambda sources, **options: iter([Translation("a", "a b")]))
    outputs = decode_pairs(model, [Pair("a", "  a   b ")], model.searcher())
    assert outputs.answers == [("a b",)]
    assert outputs.measure()["exact_match"].value == 1.0
    assert decode_pairs(model, [Pair("a", "b a")], model.searcher()).measure()["token_accuracy"].value == 0.0


@pytest.mark.parametrize(
    ("form", "text", "named"),
    [("none", "a  b", "white space"), ("nfkc", "\ufb01", "nfkc"), ("nfd", "\u00e9", "nfd")],
)
def test_references_scored_in_another_form_than_the_files_are_said_and_counted(tmp_path, form, text, named):
    """Scores of them have the signature of scores that take references as they stand."""
    tokenizer = {"name": "word", "normal_form": form}
    tree = {
        **settings("train.updates=1", "train.validate_every=1"),
        "tokenizer": {"source": "word", "target": tokenizer},
    }
    train_run(load_experiment(tree), tmp_path / "run")
    model, said = Translator.load(tmp_path / "run"), list[str]()
    path = write_pairs(tmp_path / "d.tsv", [Pair("a", text), Pair("a", "b"), Pair("b", text)])
    found = evaluate(model, path, say=said.append)
    assert found["normalised_references"] == {"count": 2, "form": named}
    (line,) = [line for line in said if "references" in line and "empty" not in line]
    assert line.startswith(
        f"2 of 3 references are scored as the model can write them ({named}), not as they stand"
    )
    said.clear()
    assert "normalised_references" not in evaluate(
        model, write_pairs(tmp_path / "e.tsv", words(2, 1)), say=said.append
    )
    assert not any("as they stand" in line for line in said)


class Constant(Seq2Seq):
    """Always thinks that the next token is 4, with probability 0.7."""

    def __init__(self) -> None:
        nn.Module.__init__(self)

    def forward(self, source: Any, inputs: Tensor) -> Output:
        log_probs = torch.tensor([0.1, 0.05, 0.05, 0.05, 0.7, 0.05]).log()
        return Output(log_probs.expand(*inputs.shape, 6), None)


@pytest.mark.parametrize("batch_size", [1, 2, 3, 64])
@pytest.mark.usefixtures("unchecked")
def test_TRN_05_teacher_forced_figures_weigh_tokens_whatever_the_batches(runs, batch_size):
    model = Translator.load(runs["gru+additive"])
    model.model = Constant()
    targets = [[4] * 31, [4], [5] * 7, []]  # with EOS: 40 + 3 tokens, of which 32 right
    index = Index(Ragged.of([[4]] * 4), Ragged.of(targets))
    loss, accuracy = teacher_forced(model, index, batch_size)
    assert accuracy == 32 / 43
    assert loss == pytest.approx(-(32 * math.log(0.7) + 11 * math.log(0.05)) / 43, abs=1e-6)


def test_TRN_05_a_real_models_figures_do_not_depend_on_batches(runs):
    model = Translator.load(runs["gru+multihead"])
    index = Index(*(Ragged.of([[4, 5, 6][: 1 + n % 3] for n in range(10)]) for _ in range(2)))
    found = [teacher_forced(model, index, batch_size) for batch_size in (1, 3, 10)]
    assert len({accuracy for _, accuracy in found}) == 1
    assert [loss for loss, _ in found] == pytest.approx([found[0][0]] * 3, abs=1e-6)


def test_where_the_model_looked_is_told_of_the_outputs_alone(runs):
    model = Translator.load(runs["gru+additive"])
    pairs = read_pairs(model, None, print).pairs
    translations = model.translate([pair.source for pair in pairs], search=model.searcher())
    looked = np.concatenate([t.attention.argmax(axis=1) for t in translations])
    found = evaluate(model)["attention"]
    assert found["rows"] == len(looked) == sum(len(t.tokens) for t in translations)
    assert found["position_0_share"] == pytest.approx((looked == 0).mean())
    assert 0 < found["position_0_share"] < 1


def test_a_model_without_attention_tells_of_none(tmp_path, monkeypatch):
    tree = settings("model.decoder.attention=none", "train.updates=2")
    model = train_run(load_experiment(tree), tmp_path / "run")
    stream, asked = model.stream, []
    monkeypatch.setattr(model, "stream", lambda *given, **how: asked.append(how) or stream(*given, **how))
    assert set(evaluate(model)) == {"examples", "metrics", "search", "model"}
    assert [how["attention"] for how in asked] == [False]  # no forced pass for nothing


def test_reports_add_to_what_is_told_and_doubts_are_said(runs, tmp_path):
    model = Translator.load(runs["gru+additive"])
    path = write_pairs(tmp_path / "some.tsv", [Pair("a", "a"), Pair("", "b"), *words(2, 4)])
    reports = (lambda outputs: {"first": outputs.hypotheses[0]}, lambda outputs: {"lines": [*outputs.lines]})
    found = evaluate(model, path, reports=reports)
    assert set(found) == {"examples", "first", "lines", "attention", "search", "model"}
    assert found["lines"] == [1, 3, 4]
    said: list[str] = []
    describe(Outputs(hypotheses=["", "a ."], answers=[("b",), ("a.",)], lines=[1, 2]), (), said.append)
    assert [line.split(" (")[0] for line in said] == [
        "1 of 2 hypotheses are empty though their references are not",
        "1 of 2 hypotheses look tokenised",
    ]


def test_MET_01_several_answers_of_as_many_lines_are_no_reason_to_warn():
    said: list[str] = []
    describe(Outputs(hypotheses=["a", "b"], answers=[("a", "c"), ("b", "d")], lines=[1, 2]), (), said.append)
    assert said == []
