"""Scores on stdout."""

import json

import pytest

from transduce.metrics import Metric
from transduce.run import evaluate
from transduce.translator import Translator


def files(folder, hypotheses: str, references: str) -> list[str]:
    (folder / "hyp").write_text(hypotheses, encoding="utf-8")
    (folder / "ref").write_text(references, encoding="utf-8")
    return ["--hypotheses", str(folder / "hyp"), "--references", str(folder / "ref")]


def test_json_is_what_python_finds(command, trained):
    done = command("evaluate", trained, "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == json.loads(json.dumps(evaluate(Translator.load(trained))))
    assert json.loads(done.out)["examples"] == 8
    greedy = json.loads(command("evaluate", trained, "--json", "--beam", 1).out)
    assert greedy["search"]["width"] == 1


def test_a_table_has_a_row_for_each_metric_with_its_signature(command, trained):
    done = command("evaluate", trained)
    found = evaluate(Translator.load(trained))["metrics"]
    first, *rows = done.lines
    assert first.split() == ["examples", "8"]
    assert [row.split()[0] for row in rows] == list(found)
    for row in rows:
        name, value, signature = row.split(maxsplit=2)
        assert float(value) == pytest.approx(found[name]["value"], abs=1e-4)
        assert signature.startswith(found[name]["signature"])


def test_other_data_may_be_given(command, trained, tmp_path):
    (tmp_path / "some.tsv").write_text("one\tone\n\t2\nఒకటి\tఒకటి\n", encoding="utf-8")
    done = command("evaluate", trained, tmp_path / "some.tsv", "--json")
    assert json.loads(done.out)["examples"] == 2
    assert (
        done.err == f"transduce: {tmp_path / 'some.tsv'}: skipped 1 of 3 pairs with a blank side (lines 2)\n"
    )
    assert command("evaluate", trained, tmp_path / "some.tsv", "--quiet").err == ""


def test_texts_are_scored_without_a_model(command, tmp_path):
    done = command("evaluate", *files(tmp_path, "a b\na c\nx\n\n", "a b\na b\nx\ny\n"), "--json")
    found = json.loads(done.out)
    assert (found["examples"], found["model"], found["search"]) == (4, None, None)
    values = {name: metric["value"] for name, metric in found["metrics"].items()}
    assert set(values) == set(Metric.family)
    assert values["exact_match"] == 0.5
    assert values["token_accuracy"] == pytest.approx(4 / 6)
    assert values["wer"] == pytest.approx(100 * 2 / 6)
    assert values["cer"] == pytest.approx(100 * 2 / 8)
    assert done.err == "transduce: 1 of 4 hypotheses are empty though their references are not\n"
    assert command("evaluate", *files(tmp_path, "a\n\n", "a\nb\n"), "--quiet").err == ""


def test_identical_texts_score_best(command, tmp_path):
    text = "the cat sat on the mat\nనేను చాలా అదృష్టవంతుడిని ఈ రోజు\n"
    values = {
        name: metric["value"]
        for name, metric in json.loads(command("evaluate", *files(tmp_path, text, text), "--json").out)[
            "metrics"
        ].items()
    }
    assert (values["exact_match"], values["token_accuracy"]) == (1, 1)
    assert (values["bleu"], values["chrf"]) == (pytest.approx(100), pytest.approx(100))
    assert (values["cer"], values["wer"]) == (0, 0)


@pytest.mark.parametrize(
    ("hypotheses", "references", "counts"),
    [("a\nb\n", "a\n", "2 hypotheses and 1 ref"), ("", "a\n", "0 hypotheses and 1 ref"), ("", "", "got 0")],
)
def test_files_of_different_length_are_refused(command, tmp_path, hypotheses, references, counts):
    done = command("evaluate", *files(tmp_path, hypotheses, references))
    assert (done.code, done.out) == (2, "")
    assert counts in done.err
    assert done.err.count("\n") == 1
