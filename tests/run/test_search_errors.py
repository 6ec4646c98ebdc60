"""Search error or model error: against scores computed apart, and in the limits."""

import pytest

from tests import translators
from transduce.config import Spec
from transduce.data.pairs import Pair
from transduce.run.outputs import ModelOutputs, decode_pairs
from transduce.run.search_errors import KINDS, TIE, SearchErrors
from transduce.search import Search
from transduce.search.penalties import LengthPenalty
from transduce.translator import Translator

SOURCES = translators.lines(12)
PENALTIES = [{"name": "none"}, {"name": "average", "alpha": 1.0}, {"name": "gnmt", "alpha": 0.6}]


@pytest.fixture(scope="module")
def model() -> Translator:
    return translators.make("gru+additive")


def greedy(model: Translator, penalty: dict) -> Search:
    name = penalty["name"]
    options = {key: value for key, value in penalty.items() if key != "name"}
    return model.searcher(width=1, length_penalty=Spec(LengthPenalty, name, options))


def pairs_of(model: Translator, search: Search) -> list[Pair]:
    """Targets that greedy search finds, that a wide beam finds, and that no model would write."""
    found = [one.text for one in model.translate(SOURCES, search=search, attention=False)]
    wide = [one.text for one in model.translate(SOURCES, search=model.searcher(width=40), attention=False)]
    odd = ["lkjihg" + source for source in SOURCES]
    targets = [(a, b, c)[n % 3] for n, (a, b, c) in enumerate(zip(found, wide, odd, strict=True))]
    return [Pair(*pair) for pair in zip(SOURCES, targets, strict=True)]


@pytest.mark.parametrize("penalty", PENALTIES)
def test_kinds_are_those_of_scores_computed_apart(model, penalty):
    search = greedy(model, penalty)
    pairs = pairs_of(model, search)
    outputs = decode_pairs(model, pairs, search)
    errors = SearchErrors(model, search, pairs, batch_size=5)(outputs)["errors"]

    def score(source: str, text: str) -> float:
        return model.score([source], [text])[0] / search.length_penalty.divisor(float(len(text) + 1))

    for line, pair, hypothesis in zip(errors["lines"], pairs, outputs.hypotheses, strict=True):
        assert (line["source"], line["hypothesis"]) == (pair.source, hypothesis)
        if hypothesis == pair.target:
            assert line["kind"] == "correct"
        elif line["kind"] != "unfinished":
            reference, own = score(pair.source, pair.target), score(pair.source, hypothesis)
            assert line["kind"] == ("search" if reference > own else "model")
            assert line["reference_score"] == pytest.approx(reference, abs=1e-9)
            assert line["hypothesis_score"] == pytest.approx(own, abs=1e-9)
    counts = errors["counts"]
    assert list(counts) == list(KINDS)
    assert counts == {kind: [line["kind"] for line in errors["lines"]].count(kind) for kind in KINDS}
    assert min(counts["correct"], counts["search"], counts["model"]) > 0


def outputs_of(texts: list[str], scores: list[float], answers: list, finished: bool = True) -> ModelOutputs:
    return ModelOutputs(
        hypotheses=texts,
        answers=answers,
        lines=range(7, 7 + len(texts)),
        sources=["abc"] * len(texts),
        scores=scores,
        finished=[finished] * len(texts),
        attention=None,
    )


def kinds(model: Translator, outputs: ModelOutputs) -> list[dict]:
    pairs = [Pair("abc", "a")] * len(outputs.hypotheses)
    plain = greedy(model, {"name": "none"})
    return SearchErrors(model, plain, pairs)(outputs)["errors"]["lines"]


def test_a_tie_is_the_models_fault(model):
    (score,) = model.score(["abc"], ["ab"])
    near = [score, score + TIE / 2, score - TIE / 2, score - 2 * TIE, score + 2 * TIE]
    found = kinds(model, outputs_of(["x"] * 5, near, [("ab",)] * 5))
    assert [line["kind"] for line in found] == ["model", "model", "model", "search", "model"]
    assert [line["line"] for line in found] == [7, 8, 9, 10, 11]


def test_of_several_answers_the_best_scored_counts(model):
    answers = ("kk", "ab", "lllll")
    scores = dict(zip(answers, model.score(["abc"] * 3, list(answers)), strict=True))
    best = max(scores, key=scores.__getitem__)
    (line,) = kinds(model, outputs_of(["x"], [scores[best] - 1], [answers]))
    assert (line["reference"], line["kind"]) == (best, "search")
    assert line["reference_score"] == pytest.approx(scores[best])
    (line,) = kinds(model, outputs_of(["lllll"], [-1.0], [answers]))
    assert line == {"line": 7, "source": "abc", "hypothesis": "lllll", "kind": "correct"}


def test_what_cannot_be_written_is_the_models_fault(model):
    (line,) = kinds(model, outputs_of(["x"], [-1e9], [("aZ",)]))
    assert (line["kind"], line["reference"], line["reference_score"]) == ("model", "aZ", None)
    (line,) = kinds(model, outputs_of(["x"], [-1e9], [("aZ", "b")]))
    assert (line["kind"], line["reference"]) == ("search", "b")


def test_outputs_that_did_not_end_are_counted_apart(model):
    found = kinds(model, outputs_of(["x", "b"], [-1e9, -1e9], [("a",), ("b",)], finished=False))
    assert [line["kind"] for line in found] == ["unfinished", "correct"]


def test_nothing_wrong_needs_no_scores(model, monkeypatch):
    monkeypatch.setattr(model, "score", lambda sources, targets, **options: [0.0] * len(sources))
    assert [line["kind"] for line in kinds(model, outputs_of(["a"], [0.0], [("a",)]))] == ["correct"]


def test_a_wider_beam_makes_fewer_search_errors(model):
    none = Spec(LengthPenalty, "none")
    best = model.translate(SOURCES, search=model.searcher(width=40, length_penalty=none), attention=False)
    pairs = [Pair(one.source, one.text) for one in best]
    counts = []
    for width in (1, 40):
        search = model.searcher(width=width, length_penalty=none)
        found = SearchErrors(model, search, pairs)(decode_pairs(model, pairs, search))
        counts.append(found["errors"]["counts"]["search"])
    assert counts[0] > counts[1] == 0
