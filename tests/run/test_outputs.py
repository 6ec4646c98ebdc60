"""Outputs from files and from models."""

from pathlib import Path

import pytest

from tests import translators
from transduce.data.pairs import Pair
from transduce.errors import DataError
from transduce.metrics import measure
from transduce.run.outputs import decode_pairs, read_outputs


def write(folder: Path, **texts: str) -> dict[str, str]:
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {name: str(folder / name) for name in texts}


def test_several_files_of_references_give_several_answers_a_line(tmp_path):
    files = write(tmp_path, hyp="a b\nx\n", one="a b\ny\n", two="b\nx\n", src="p q r\n s  t \n")
    outputs = read_outputs(files["hyp"], [files["one"], files["two"]], files["src"])
    assert outputs.hypotheses == ["a b", "x"]
    assert outputs.answers == [("a b", "b"), ("y", "x")]
    assert (outputs.sources, outputs.lengths, list(outputs.lines)) == (["p q r", " s  t "], [3, 2], [1, 2])
    assert outputs.measure() == measure(None, outputs.hypotheses, outputs.answers)
    assert outputs.measure(["exact_match"])["exact_match"].value == 1.0
    assert "nrefs:2" in outputs.measure(["bleu"])["bleu"].signature
    alone = read_outputs(files["hyp"], [files["one"]])
    assert (alone.sources, alone.lengths) == (None, None)
    assert alone.measure(["exact_match"])["exact_match"].value == 0.5


def test_files_that_differ_in_length_are_refused(tmp_path):
    files = write(tmp_path, hyp="a\nb\n", short="a\n", same="a\nb\n")
    with pytest.raises(DataError, match=r"short: expected a reference for each of the 2 hypotheses; got 1"):
        read_outputs(files["hyp"], [files["same"], files["short"]])
    with pytest.raises(DataError, match=r"short: expected a source for each of the 2 hypotheses; got 1"):
        read_outputs(files["hyp"], [files["same"]], files["short"])


def test_a_models_outputs_carry_what_ranked_them():
    model = translators.make("gru+additive")
    pairs = [Pair(line, line[::-1]) for line in translators.lines(8)]
    search = model.searcher(width=2)
    found = model.translate([pair.source for pair in pairs], search=search)
    outputs = decode_pairs(model, pairs, search, batch_size=3, attention=True, lines=range(10, 18))
    assert outputs.hypotheses == [one.text for one in found]
    assert outputs.scores == pytest.approx([one.score for one in found])
    assert outputs.finished == [one.finished for one in found]
    assert outputs.lengths == [len(pair.source) for pair in pairs]
    assert outputs.answers == [(pair.target,) for pair in pairs]
    assert list(outputs.lines) == list(range(10, 18))
    assert outputs.tokenize("abc") == ["a", "b", "c"]
    assert outputs.attention["rows"] == sum(
        len(one.tokens) for one in found
    )  # </s> makes every source two tokens
    without = decode_pairs(model, pairs, search)
    assert without.attention is None
    assert (without.hypotheses, list(without.lines)) == (outputs.hypotheses, list(range(1, 9)))
