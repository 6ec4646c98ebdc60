"""What a trace tells is true, whatever the search: laws, and the fixture that a viewer is built on."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.search.models import MODELS, forced, translator
from transduce.data.batch import source_batch
from transduce.errors import ConfigError, DataError
from transduce.trace import Candidate, Hypothesis, Score, Token, Trace, schema
from transduce.translation import END
from transduce.translator import Line, Translator
from transduce.types import BOS

ROOT = Path(__file__).parent.parent
FIXTURE = ROOT / "tests" / "fixtures" / "trace.json"
SCHEMA = ROOT / "docs" / "trace.schema.json"
ALL = 99  # alternatives: the whole vocabulary
PENALTIES = [{"name": "none"}, {"name": "average", "alpha": 1.0}, {"name": "gnmt", "alpha": 0.6}]
close = pytest.approx


def hypotheses(trace: Trace) -> Iterator[tuple[int, Hypothesis]]:
    for step, found in enumerate(trace.steps):
        yield from ((step, hypothesis) for hypothesis in found.beam)


def candidates(trace: Trace) -> Iterator[tuple[int, Hypothesis, Candidate]]:
    for step, hypothesis in hypotheses(trace):
        yield from ((step, hypothesis, candidate) for candidate in hypothesis.candidates)


def recombined(score: Score) -> float:
    return score.sum / score.divisor + score.coverage


def spelled(trace: Trace, number: int | None) -> list[str]:
    """The tokens of a hypothesis, along its parents."""
    by_id = {hypothesis.id: hypothesis for _, hypothesis in hypotheses(trace)}
    tokens: list[str] = []
    while number is not None:
        tokens.insert(0, by_id[number].token)
        number = by_id[number].parent
    return tokens[1:]


def check(trace: Trace, off: float = 1e-9) -> None:
    """The laws of any trace; numbers may be `off` by so much."""
    check_tokens(trace)
    check_beams(trace, off)
    check_results(trace, off)
    for row in trace.weights:
        assert {len(heads) for layer in row for heads in layer} == {len(trace.source_tokens)}
        assert [sum(head) for layer in row for head in layer] == close(
            [1.0] * len(row) * len(row[0]), abs=1e-5
        )


def check_tokens(trace: Trace) -> None:
    for text, tokens in ((trace.source, trace.source_tokens), (trace.text, trace.target_tokens)):
        real = tokens[: len(tokens) - (tokens[-1:] == [Token(text=END, start=None, end=None)])]
        assert [text[token.start : token.end] for token in real] == [token.text for token in real]
        assert [token.start for token in real] == sorted(token.start for token in real)
    assert len(trace.weights) == len(trace.target_tokens)


def check_beams(trace: Trace, off: float) -> None:
    steps = {hypothesis.id: step for step, hypothesis in hypotheses(trace)}
    assert len(steps) == len(list(hypotheses(trace)))
    chosen = {c.child: (parent, c) for _, parent, c in candidates(trace) if c.child is not None}
    for step, hypothesis in hypotheses(trace):
        assert (hypothesis.parent is None) == (step == 0) == (hypothesis.token == "<s>")
        for score in filter(None, (hypothesis.score, hypothesis.ending)):
            assert score.total == close(recombined(score), abs=off)
        assert hypothesis.entropy >= 0
        if step:
            parent, candidate = chosen.pop(hypothesis.id)
            assert (parent.id, steps[parent.id]) == (hypothesis.parent, step - 1)
            assert (candidate.token, candidate.sum) == (hypothesis.token, hypothesis.score.sum)
            assert hypothesis.log_prob == close(parent.log_prob + candidate.log_prob, abs=off)
    assert not chosen
    for step, hypothesis, candidate in candidates(trace):
        check_candidate(step, hypothesis, candidate, len(trace.steps), off)


def check_candidate(step: int, parent: Hypothesis, one: Candidate, steps: int, off: float) -> None:
    assert (one.fate == "kept") == (one.child is not None)
    assert (one.fate == "pruned") == (one.reason is not None)
    assert one.token != "<s>"
    assert one.log_prob <= 0
    if one.fate == "completed":
        assert one.token == END
        assert parent.ending is not None
        assert one.sum == parent.ending.sum
    if one.reason in ("longer than max_length", "could not win"):
        assert step == steps - 1
    if one.fate == "kept":
        assert step < steps - 1
    order = [candidate.log_prob for candidate in parent.candidates]
    assert order == sorted(order, reverse=True)
    assert len({candidate.id for candidate in parent.candidates}) == len(order)
    assert sum(map(math.exp, order)) <= 1 + off + 1e-6


def check_results(trace: Trace, off: float) -> None:
    by_id = {hypothesis.id: hypothesis for _, hypothesis in hypotheses(trace)}
    totals = [result.score.total for result in trace.n_best]
    assert totals == sorted(totals, reverse=True)
    for result in trace.n_best:
        hypothesis = by_id[result.hypothesis]
        assert result.score == (hypothesis.ending if result.finished else hypothesis.score)
        assert [c.fate for c in hypothesis.candidates if c.token == END and result.finished] in (
            [],
            ["completed"],
        )
        last = next((c.log_prob for c in hypothesis.candidates if c.token == END), 0.0)
        assert result.log_prob == close(hypothesis.log_prob + last * result.finished, abs=off)
    best = trace.n_best[0]
    spelt = spelled(trace, best.hypothesis) + [END] * best.finished
    assert spelt == [token.text for token in trace.target_tokens]
    assert trace.text == best.text


def small(name: str = "gru+additive", seed: int = 3, ending: float = 1.0) -> Translator:
    return translator(name, seed, torch.float64, ending)


@st.composite
def searches(draw: st.DrawFn) -> dict[str, Any]:
    """Options of any search, alone and together."""
    length = {"max_length": {"ratio": 0.0, "plus": draw(st.integers(1, 5))}}
    shared = {
        "no_repeat_ngram": draw(st.sampled_from([0, 0, 1, 2])),
        "repetition_penalty": draw(st.sampled_from([1.0, 2.0])),
        "min_length": {"ratio": 0.0, "plus": draw(st.integers(0, 1))},
        "without": draw(st.sampled_from([[], ["b"], ["a b", "c"]])),
        "n_best": draw(st.integers(1, 3)),
    }
    if draw(st.booleans()) and draw(st.booleans()):
        return {"name": "sampling", "seed": draw(st.integers(0, 9)), **shared, **length}
    groups = draw(st.sampled_from([1, 1, 2]))
    return {
        "width": draw(st.sampled_from([4, 6])),
        "policy": draw(st.sampled_from(["top_k", "pools"])),
        "length_penalty": draw(st.sampled_from(PENALTIES)),
        "coverage_penalty": draw(st.sampled_from([0.0, 0.5])),
        "groups": groups,
        "diversity": 0.7 if groups == 2 else 0.0,
        "distinct": draw(st.sampled_from(["tokens", "strings"])),
        **shared,
        **length,
    }


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=8, phases=[Phase.generate])
@given(searches(), st.integers(0, 50), st.integers(1, 9))
def test_every_trace_keeps_the_laws_and_changes_no_result(name, options, seed, alternatives):
    model = small(name, seed % 5)
    search = model.searcher(**options)
    texts = ["abca", "g", "", "fedcb"]
    traced = list(model.stream(texts, search=search, alternatives=alternatives))
    assert traced == list(model.stream(texts, search=search))
    apart = list(model.stream(texts, search=search, alternatives=alternatives, batch_size=2))
    assert [result.trace.text for result in apart] == [result.text for result in traced]
    for text, result in zip(texts, traced, strict=True):
        trace = result.trace
        assert trace is not None
        assert (trace.source, trace.text) == (text, result.text)
        assert [token.text for token in trace.target_tokens] == result.tokens
        assert [token.text for token in trace.source_tokens] == result.source_tokens
        assert [r.text for r in trace.n_best] == [r.text for r in result.n_best or [result]] * bool(text)
        assert [r.score.total for r in trace.n_best[:1]] == [result.score] * bool(text)
        assert Trace.from_plain(json.loads(json.dumps(trace.plain()))) == trace
        if text:
            check(trace)


def shape(trace: Trace) -> list[list[list[tuple[Any, ...]]]]:
    """What happened, without the numbers."""
    return [
        [[(h.id, h.parent, c.token, c.fate, c.child, c.reason) for c in h.candidates] for h in step.beam]
        for step in trace.steps
    ]


def test_sentences_that_are_over_are_not_recorded_while_others_go_on():
    """Few of many are over at first, so that they stay in the batch for a while."""
    model, texts = small(ending=0.0), [a + b for a in "abcd" for b in "efga"]
    search = model.searcher(width=1, max_length={"ratio": 0.0, "plus": 6})
    for text, result in zip(texts, model.stream(texts, search=search, alternatives=3), strict=True):
        assert result.trace is not None
        check(result.trace)
        assert shape(result.trace) == shape(model.trace(text, search=search, alternatives=3))


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_those_of_every_layer_and_head(name):
    model, text = small(name), "abca"
    trace, shown = model.trace(text), model.translate(text)
    source = source_batch([model.source_tokenizer.encode(text).ids], eos=True)
    tokens = [BOS, *(model.target_tokenizer.encode(trace.text).ids)]
    with torch.no_grad():
        whole = model.model(source, torch.tensor([tokens]), weights=True).weights[0]
    assert torch.tensor(trace.weights, dtype=torch.float64).equal(whole[: len(trace.weights)])
    mean = torch.tensor(trace.weights)[:, -1].mean(dim=1)
    assert mean.numpy() == close(shown.attention, abs=1e-6)


@pytest.mark.parametrize("policy", ["top_k", "pools"])
def test_what_is_kept_is_what_a_beam_keeps(policy):
    """With the whole vocabulary told, every step is done again from the numbers in the trace."""
    model, width = small(seed=1), 3
    options = {"width": width, "n_best": 2, "policy": policy, "length_penalty": "none"}
    trace = model.trace(
        "bagc", search=model.searcher(**options, max_length={"ratio": 0.0, "plus": 4}), alternatives=ALL
    )
    source = source_batch([model.source_tokenizer.encode("bagc").ids], eos=True)
    pool: list[float] = []
    for step, found in enumerate(trace.steps):
        every = [(c.sum, c, h) for h in found.beam for c in h.candidates]
        assert len(every) == (model.target_tokenizer.vocab_size - 3) * len(found.beam)  # PAD, UNK, BOS
        every.sort(key=lambda one: -one[0])
        going = [c for _, c, _ in every if c.token != END][:width]
        ending = [(s, c) for s, c, _ in (every[:width] if policy == "top_k" else every) if c.token == END]
        pool = sorted(pool + [s for s, _ in ending], reverse=True)[:2]
        if step < len(trace.steps) - 1:
            assert {id(c) for c in going} == {id(c) for _, c, _ in every if c.fate == "kept"}
        completed = [c for _, c in ending if c.sum in pool]
        assert {id(c) for c in completed} == {id(c) for _, c, _ in every if c.fate == "completed"}
        for hypothesis in found.beam:
            ids = model.target_tokenizer.encode(" ".join(spelled(trace, hypothesis.id))).ids
            for candidate in hypothesis.candidates[:3]:
                values = forced(model.model, source, 0, [*ids, candidate.id])
                assert candidate.log_prob == close(values[-1], abs=1e-9)
                assert hypothesis.log_prob == close(sum(values[:-1]), abs=1e-9)
            assert hypothesis.entropy == close(entropy(hypothesis.candidates), abs=1e-9)
    assert [result.score.total for result in trace.n_best] == close(pool)


def entropy(every: list[Candidate]) -> float:
    """That of what the model says of these tokens, and of no other."""
    chances = [math.exp(candidate.log_prob) for candidate in every]
    return -sum(p / sum(chances) * math.log(p / sum(chances)) for p in chances)


def told(reason: str, trace: Trace) -> list[tuple[int, list[str], str]]:
    """Step, prefix and token of what was pruned for this reason."""
    return [(s, spelled(trace, h.id), c.token) for s, h, c in candidates(trace) if c.reason == reason]


def everything(model: Translator, text: str = "abca", **options: Any) -> Trace:
    """A trace of the whole vocabulary."""
    line = {key: options.pop(key) for key in ("prefix", "phrases") if key in options}
    options = {"max_length": {"ratio": 0.0, "plus": 4}, **options}
    search = model.searcher(**options)
    (result,) = model.stream([Line(0, text, **line)], search=search, alternatives=ALL)
    assert result.trace is not None
    check(result.trace)
    for _, hypothesis in hypotheses(result.trace):
        assert hypothesis.entropy == close(entropy(hypothesis.candidates), abs=1e-9)
    return result.trace


def test_a_short_end_is_pruned_as_such():
    trace = everything(small(), min_length={"ratio": 0.0, "plus": 2})
    found = told("shorter than min_length", trace)
    assert {(step, token) for step, _, token in found} == {(0, END), (1, END)}
    assert all(c.sum is None for s, _, c in candidates(trace) if s < 2 and c.token == END)
    assert len(found) == sum(len(step.beam) for step in trace.steps[:2])


def test_a_repeated_n_gram_is_pruned_as_such():
    trace = everything(small(), no_repeat_ngram=1)
    found = told("repeats an n-gram", trace)
    assert len(found) > 5
    assert all(token in prefix for _, prefix, token in found)
    assert all(
        c.reason == "repeats an n-gram" for _, h, c in candidates(trace) if c.token in spelled(trace, h.id)
    )


def test_a_banned_phrase_and_a_prefix_are_told():
    trace = everything(small(), without=["b b"])
    assert {(prefix[-1], token) for _, prefix, token in told("ends a banned phrase", trace)} == {("b", "b")}
    trace = everything(small(), prefix="c d", no_repeat_ngram=1)
    for step, wanted in enumerate(["c", "d"]):
        others = {token for at, _, token in told("not the prefix", trace) if at == step}
        assert others == {*"abcdefg", END} - {wanted}
    assert trace.text.startswith("c d")


def test_an_end_without_a_phrase_is_told():
    trace = everything(small(), phrases=["f"])
    lacking = told("lacks a phrase", trace)
    assert lacking
    assert all("f" not in prefix and token == END for _, prefix, token in lacking)
    assert "f" in trace.text


def test_a_drawn_token_and_those_not_drawn():
    trace = everything(small(), name="sampling", n_best=2)
    for _, hypothesis in hypotheses(trace):
        drawn = [c for c in hypothesis.candidates if c.reason != "not drawn"]
        assert len(drawn) == 1
        assert drawn[0].fate != "pruned" or drawn[0].reason == "longer than max_length"


def test_groups_that_write_the_same_end_it_once():
    trace = everything(small(ending=4.0), width=4, n_best=4, groups=2, diversity=0.01, policy="pools")
    assert len(trace.steps[0].beam) == 2
    twice = told("written by another group", trace)
    assert (0, [], END) in twice
    ends = [spelled(trace, h.id) for _, h, c in candidates(trace) if c.fate == "completed"]
    assert len({*map(tuple, ends)}) == len(ends)


def test_an_end_that_ranks_below_those_there_are_is_told():
    trace = everything(small(), width=4, n_best=1, policy="pools", length_penalty={"alpha": 0.0})
    (crowded, *_) = told("not among the n best", trace)
    assert crowded[2] == END
    assert told("could not win", trace)
    assert not told("longer than max_length", trace)
    assert told("longer than max_length", everything(small(ending=-9.0)))


def test_scores_hold_penalties_and_coverage():
    trace = everything(small(), coverage_penalty=0.4, length_penalty={"name": "gnmt", "alpha": 1.0}, n_best=3)
    for step, hypothesis in hypotheses(trace):
        assert hypothesis.score.divisor == close((5 + max(step, 1)) / 6)
        if hypothesis.ending:
            assert hypothesis.ending.divisor == close((6 + step) / 6)
            assert hypothesis.ending.coverage > hypothesis.score.coverage
    seen = torch.tensor(trace.weights, dtype=torch.float64)[:, -1].mean(dim=1).sum(dim=0)
    expected = 0.4 * seen.clamp(max=1.0).log().sum().item()
    assert trace.n_best[0].score.coverage == close(expected, abs=1e-6)


def test_watching_costs_nothing_where_nobody_watches(monkeypatch):
    from transduce.search import sights

    model = small()
    monkeypatch.setattr(sights.Sights, "__call__", None)
    assert model.translate("abca").trace is None
    with pytest.raises(TypeError):
        model.trace("abca")


def test_a_blank_text_and_impossible_numbers():
    model = small()
    assert model.trace(" ") == Trace.of_nothing(" ")
    with pytest.raises(ConfigError, match="alternatives: expected at least 1; got 0"):
        model.trace("a", alternatives=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trace": 2}, "expected a mapping with 'trace': 1, its version; got 2"),
        ({"text": None}, "trace: text: Input should be a valid string; got None"),
        ({"steps": [{"beam": [{}]}]}, r"trace: steps.0.beam.0.id: Field required"),
        ({"n_best": 3}, "trace: n_best: Input should be a valid list; got 3"),
    ],
)
def test_what_is_no_trace_is_refused(change, message):
    with pytest.raises(DataError, match=message):
        Trace.from_plain(Trace.of_nothing("").plain() | change)
    with pytest.raises(DataError, match=r"expected a mapping.*got None"):
        Trace.from_plain(None)


def test_the_fixture_is_a_trace_of_a_beam_of_three():
    text = FIXTURE.read_text(encoding="utf-8")
    assert len(text.encode()) < 60_000
    trace = Trace.from_plain(json.loads(text))
    check(trace, off=1e-5)
    assert trace.plain() == json.loads(text)
    assert max(len(step.beam) for step in trace.steps) == 3
    assert len(trace.n_best) == 3
    assert {c.fate for _, _, c in candidates(trace)} == {"kept", "completed", "pruned"}
    assert (trace.source, trace.text) == ("7/8/2019", "2019-08-07")


def test_the_schema_in_the_docs_is_current():
    written = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert written == schema()
    assert set(written["properties"]) == set(Trace.of_nothing("").plain())
    assert written["properties"]["trace"]["const"] == 1
