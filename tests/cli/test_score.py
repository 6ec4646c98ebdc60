"""Log-probabilities of given pairs."""

import json

import pytest

from transduce.translator import Translator

PAIRS = [("one 2", "2 one"), ("ఒకటి", "ఒకటి"), ("one", "one one one one"), ("zzz", "yyy")]


@pytest.fixture
def data(tmp_path) -> str:
    rows = "".join(f"{source}\t{target}\n" for source, target in PAIRS)
    (tmp_path / "pairs.tsv").write_text(rows, encoding="utf-8")
    return str(tmp_path / "pairs.tsv")


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_scores_are_those_of_python(command, trained, data, batch_size):
    done = command("score", trained, data, "--batch-size", batch_size)
    assert (done.code, done.err) == (0, "")
    expected = Translator.load(trained).score(*map(list, zip(*PAIRS, strict=True)))
    assert [float(line) for line in done.lines] == pytest.approx(expected, abs=2e-5)
    assert expected == sorted(expected, reverse=True) or max(expected) < 0


def test_json_repeats_the_pair(command, trained, data):
    rows = [json.loads(line) for line in command("score", trained, data, "--json").lines]
    assert [(row["source"], row["target"]) for row in rows] == PAIRS
    assert all(set(row) == {"source", "target", "log_prob"} for row in rows)
    plain = [float(line) for line in command("score", trained, data).lines]
    assert [row["log_prob"] for row in rows] == pytest.approx(plain, abs=1e-6)


def test_a_translations_log_probability_is_its_score(command, trained, tmp_path):
    result = Translator.load(trained).translate("one ఒకటి 2")
    (tmp_path / "pair.tsv").write_text(f"{result.source}\t{result.text}\n", encoding="utf-8")
    assert result.finished
    assert float(command("score", trained, tmp_path / "pair.tsv").out) == pytest.approx(
        result.log_prob, abs=1e-4
    )


@pytest.mark.parametrize("text", ["a\t\n", "one\tone\n\t2\n", " \tx\n", "", "one\n"])
def test_what_has_no_score_is_refused(command, trained, tmp_path, text):
    (tmp_path / "pairs.tsv").write_text(text, encoding="utf-8")
    done = command("score", trained, tmp_path / "pairs.tsv")
    assert (done.code, done.out) == (2, "")
    assert str(tmp_path / "pairs.tsv") in done.err
    assert "data." not in done.err
