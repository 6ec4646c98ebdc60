"""What reports tell is what the metrics find."""

import json

import pytest

from transduce.config import Spec
from transduce.errors import ConfigError, DataError
from transduce.metrics import Metric, confidence, measure, measure_by_length, sentence_scores
from transduce.run.outputs import Outputs
from transduce.run.reports import ByLength, Intervals, Scores, Sentences, plain_scores

HYPOTHESES = ["a b c", "b", "", "c c"]
ANSWERS = [("a b c",), ("a", "b"), ("c",), ("c a", "d")]
OUTPUTS = Outputs(
    hypotheses=HYPOTHESES,
    answers=ANSWERS,
    lines=[2, 3, 5, 6],
    sources=["x", "y y", "z", "w"],
    lengths=[1, 5, 2, 9],
)
NAMES = [None, ["wer", Spec(Metric, "chrf", {"word_order": 2})]]


@pytest.mark.parametrize("names", NAMES)
def test_scores(names):
    found = Scores(names)(OUTPUTS)
    assert found == {"metrics": plain_scores(measure(names, HYPOTHESES, ANSWERS))}
    first = found["metrics"]["wer"]
    assert first == {"value": pytest.approx(100 * 2 / 7), "signature": first["signature"]}
    if names is None:
        assert "note" in found["metrics"]["bleu"]


@pytest.mark.parametrize("names", NAMES)
def test_intervals_are_scores_with_bounds(names):
    found, scores = Intervals(names)(OUTPUTS)["metrics"], Scores(names)(OUTPUTS)["metrics"]
    assert list(found) == list(scores)
    for name, interval in confidence(names, HYPOTHESES, ANSWERS).items():
        assert found[name] == scores[name] | {
            "low": interval.low,
            "high": interval.high,
            "signature": interval.signature,
        }
    assert found["wer"]["low"] < found["wer"]["value"] < found["wer"]["high"]
    assert found["wer"]["signature"].endswith("|bs:1000|seed:12345|ci:95%")


@pytest.mark.parametrize("names", NAMES)
def test_buckets(names):
    found = ByLength(names, [4, 8])(OUTPUTS)["by_length"]
    assert [(b["shortest"], b["longest"], b["lines"]) for b in found] == [(1, 4, 2), (5, 8, 1), (9, 9, 1)]
    expected = measure_by_length(names, [1, 5, 2, 9], HYPOTHESES, ANSWERS, bounds=[4, 8])
    assert [b["metrics"] for b in found] == [plain_scores(bucket.scores) for bucket in expected]
    assert [b["longest"] for b in ByLength(names)(OUTPUTS)["by_length"]] == [10]


def test_buckets_need_lengths_and_bounds_that_ascend():
    with pytest.raises(ConfigError, match="ascending bounds"):
        ByLength(None, [3, 3])
    with pytest.raises(DataError, match="expected the sources"):
        ByLength()(Outputs(hypotheses=["a"], answers=[("a",)], lines=[1]))


@pytest.mark.parametrize("names", NAMES)
def test_sentences(names):
    found = Sentences(names)(OUTPUTS)["sentences"]
    assert [line["line"] for line in found] == [2, 3, 5, 6]
    assert [line["source"] for line in found] == OUTPUTS.sources
    assert [line["hypothesis"] for line in found] == HYPOTHESES
    assert [tuple(line["references"]) for line in found] == ANSWERS
    for name in names or Metric.family:
        scores = sentence_scores(name, HYPOTHESES, ANSWERS)
        key = scores[0].name
        assert [line["scores"][key]["value"] for line in found] == [score.value for score in scores]
        assert all("level:sentence" in line["scores"][key]["signature"] for line in found)
    alone = Outputs(hypotheses=["a"], answers=[("a",)], lines=[1])
    assert Sentences(["cer"])(alone)["sentences"][0]["source"] is None


@pytest.mark.parametrize("report", [Scores(), Intervals(), ByLength(), Sentences()])
def test_a_report_is_plain_and_splits_targets_as_the_model_does(report):
    found = report(OUTPUTS)
    assert json.loads(json.dumps(found)) == found
    assert "tok:target" in json.dumps(report(Outputs(**{**vars(OUTPUTS), "tokenize": list})))
