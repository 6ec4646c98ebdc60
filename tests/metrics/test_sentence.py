"""Single sentences: each is a corpus of one, and says so."""

from importlib.metadata import version

import pytest
import sacrebleu

from transduce.config import Spec
from transduce.errors import ConfigError, DataError
from transduce.metrics import Metric, sentence_scores

HYPOTHESES = ["the the cat", "a dog runs in the park", "", "no"]
REFERENCES = ["the cat", ["a dog ran in a park", "a dog runs in parks"], "something", ["no", "not at all"]]


@pytest.mark.parametrize("name", list(Metric.family))
def test_each_line_is_a_corpus_of_its_own(name: str) -> None:
    scores = sentence_scores(name, HYPOTHESES, REFERENCES)
    options = {"effective_order": True} if name == "bleu" else {}
    metric = Spec(Metric, name, options).build()
    alone = [metric([h], [r]) for h, r in zip(HYPOTHESES, REFERENCES, strict=True)]
    assert [(score.value, score.name) for score in scores] == [(score.value, name) for score in alone]
    for score, own, count in zip(scores, alone, [1, 2, 1, 2], strict=True):
        parts = score.signature.split("|")
        assert "level:sentence" in parts
        assert f"nrefs:{count}" in parts
        assert score.signature != own.signature
        assert score.note is None


def test_bleu_is_that_of_sacrebleu() -> None:
    scores = sentence_scores("bleu", HYPOTHESES, REFERENCES)
    for score, hypothesis, line in zip(scores, HYPOTHESES, REFERENCES, strict=True):
        answers = [line] if isinstance(line, str) else line
        assert score.value == pytest.approx(sacrebleu.sentence_bleu(hypothesis, answers).score)
    assert scores[0].value == pytest.approx(100 * (2 / 3 * 1 / 2 * 1 / 2) ** (1 / 3))  # 3-gram: 1 / (2 · 1)
    assert scores[3].value == 100.0
    expected = "nrefs:1|case:mixed|eff:yes|tok:13a|smooth:exp|level:sentence|version:"
    assert scores[0].signature == expected + version("sacrebleu")


@pytest.mark.parametrize("name", ["chrf", "ter"])
def test_others_are_those_of_sacrebleu(name: str) -> None:
    theirs = {"chrf": sacrebleu.sentence_chrf, "ter": sacrebleu.sentence_ter}[name]
    for score, hypothesis, line in zip(
        sentence_scores(name, HYPOTHESES, REFERENCES), HYPOTHESES, REFERENCES, strict=True
    ):
        answers = [line] if isinstance(line, str) else line
        assert score.value == pytest.approx(theirs(hypothesis, answers).score)


def test_options_and_the_target_splitting_hold() -> None:
    (score,) = sentence_scores(Spec(Metric, "bleu", {"lowercase": True, "tokenize": "char"}), ["AB"], ["ab"])
    assert score.value == 100.0
    assert score.signature.startswith("nrefs:1|case:lc|eff:yes|tok:char|")
    filled = Spec(Metric, "bleu", Spec(Metric, "bleu").plain() | {"smooth_method": "none"})
    filled.options.pop("name")
    assert sentence_scores(filled, ["a b"], ["a b"])[0].value == 100.0
    assert sentence_scores("token_accuracy", ["abd"], ["abc"], list)[0].value == 2 / 3


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(DataError, match="2 hypotheses and 1 references"):
        sentence_scores("cer", ["a", "b"], ["a"])
    with pytest.raises(ConfigError, match="did you mean 'cer'"):
        sentence_scores("cerr", ["a"], ["a"])
