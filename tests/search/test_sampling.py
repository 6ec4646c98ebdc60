"""Sampling: frequencies are probabilities, and nothing but seed, line and text decides."""

import math
import random
from collections import Counter
from typing import Any

import pytest
import torch

from tests.search.stubs import Prefix, Rule, Stub, drawn, drive, everything, forced, logs, read, wishes
from transduce.config import Spec, dump_options
from transduce.errors import ConfigError
from transduce.search import Asked, MaxLength, MinLength, Search
from transduce.search.sampling import Sampling


def draws(rule: Rule, symbols: str, count: int, limit: int = 4, **options: Any) -> Counter[str]:
    """How often each output comes, over `count` lines of the same text."""
    stub = Stub([rule] * count, symbols)
    out = drive(stub, limit, Sampling(**options), wishes(stub))
    return Counter(read(stub, out, row)[0].text for row in range(count))


def deviation(counts: Counter[str], chances: dict[str, float]) -> float:
    """Chi-square, in standard deviations from its mean; outputs of chance 0 must not come."""
    total = counts.total()
    assert set(counts) <= {text for text, chance in chances.items() if chance}
    likely = {text: chance for text, chance in chances.items() if chance * total >= 5}
    statistic = sum((counts[text] - c * total) ** 2 / (c * total) for text, c in likely.items())
    return (statistic - len(likely) + 1) / math.sqrt(2 * max(len(likely) - 1, 1))


def reshaped(rule: Rule, temperature: float, top_k: int, top_p: float) -> Rule:
    """The rule as it is drawn from, over lists."""

    def after(prefix: Prefix) -> Any:
        row = {symbol: value for symbol, value in rule(prefix).items() if value > -math.inf}
        order = sorted(row, key=lambda s: -row[s])[: top_k or None]
        powers = {s: math.exp(row[s] / temperature) for s in order}
        total, kept, mass = sum(powers.values()), {}, 0.0
        for symbol in order:
            if mass >= top_p * total:
                break
            kept[symbol] = powers[symbol]
            mass += powers[symbol]
        return logs({symbol: power / mass for symbol, power in kept.items()})

    return after


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"),
    [(1.0, 0, 1.0), (0.5, 0, 1.0), (2.0, 0, 1.0), (1.0, 2, 1.0), (1.0, 0, 0.6), (1.5, 3, 0.8), (1.0, 1, 1.0)],
)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.usefixtures("unchecked")
def test_outputs_come_as_often_as_they_are_likely(
    seed: int, temperature: float, top_k: int, top_p: float
) -> None:
    def rule(prefix: Prefix) -> Any:
        return logs({"E": 1.0}) if len(prefix) == 3 else drawn(7, "abc", "dense")(prefix)

    shaped = reshaped(rule, temperature, top_k, top_p)
    chances = {one.text: math.exp(one.log_prob) for one in everything(shaped, "abc", 3, ("none", None))}
    assert sum(chances.values()) == pytest.approx(1)
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    assert abs(deviation(draws(rule, "abc", 2000, **options), chances)) < 4


@pytest.mark.usefixtures("unchecked")
def test_the_samples_of_a_line_are_independent_draws_the_likeliest_first() -> None:
    """Pairs of samples come as often as the product of their chances: so two may be equal."""
    rule: Rule = lambda prefix: logs({"a": 0.6, "E": 0.4} if not prefix else {"E": 1.0})  # noqa: E731
    stub = Stub([rule] * 2000, "a")
    out = drive(stub, 3, Sampling(n_best=2), wishes(stub))
    pairs = Counter(" ".join(f"{len(r.text)}" for r in read(stub, out, row)) for row in range(2000))
    assert abs(deviation(pairs, {"1 1": 0.36, "1 0": 0.48, "0 0": 0.16})) < 4


@pytest.mark.parametrize("n_best", [1, 4])
def test_log_prob_is_the_models_own_whatever_shapes_the_draw(n_best: int) -> None:
    rules = [drawn(seed, "abc", ("dense", "sparse")[seed % 2]) for seed in range(12)]
    stub = Stub(rules, "abc")
    search = Sampling(n_best=n_best, temperature=1.7, top_p=0.9, min_length=MinLength(plus=0))
    out = drive(stub, [1 + n % 6 for n in range(12)], search)
    for row, rule in enumerate(rules):
        results = read(stub, out, row)
        assert len(results) == n_best  # unfinished ones beside finished ones
        assert [r.score for r in results] == sorted((r.score for r in results), reverse=True)
        for result in results:
            generated = (*result.text.split(), *("E",) * result.finished)
            assert result.log_prob == pytest.approx(forced(rule, generated), abs=1e-9)
            assert result.score == result.log_prob
            steps = out.token_log_probs[row].sum(dim=-1).tolist()
            assert any(step == pytest.approx(result.log_prob) for step in steps)


@pytest.mark.usefixtures("unchecked")
def test_what_ends_at_the_very_limit_is_finished_and_the_rest_is_not() -> None:
    rule: Rule = lambda prefix: logs({"a": 0.5, "E": 0.5} if len(prefix) == 2 else {"a": 1.0})  # noqa: E731
    stub = Stub([rule] * 400, "a")
    out = drive(stub, 2, Sampling(n_best=2), wishes(stub))
    assert out.length.eq(2).all()
    assert out.log_prob.eq(math.log(0.5)).eq(out.finished).all()
    assert 340 < out.finished.sum() < 460


@pytest.mark.usefixtures("unchecked")
def test_a_line_is_drawn_alike_whatever_lies_beside_it() -> None:
    rng = random.Random(3)
    rules, lines = [drawn(seed, "abc", "dense") for seed in range(40)], rng.sample(range(10**6), 40)
    search = Sampling(n_best=3, temperature=1.3, top_p=0.95, seed=11)

    def together(rows: list[int]) -> list[Any]:
        stub = Stub([rules[n] for n in rows], "abc")
        out = drive(stub, [1 + n % 7 for n in rows], search, wishes(stub, line=[lines[n] for n in rows]))
        return [read(stub, out, row) for row in range(len(rows))]

    single = [together([n])[0] for n in range(40)]
    assert together(list(range(40))) == single == together(list(range(40)))
    for size in (2, 7, 33):
        rows = rng.sample(range(40), size)
        assert together(rows) == [single[n] for n in rows]


def test_seed_and_line_decide() -> None:
    rules = [lambda prefix: logs({"a": 0.5, "b": 0.4, "E": 0.1})] * 30
    stub = Stub(rules, "ab")

    def texts(seed: int, first: int) -> list[str]:
        asked = wishes(stub, line=list(range(first, first + 30)))
        out = drive(stub, 8, Sampling(seed=seed), asked)
        return [read(stub, out, row)[0].text for row in range(30)]

    assert len(set(texts(1, 0))) > 20  # equal texts on different lines are drawn apart
    assert texts(1, 0) == texts(1, 0)
    assert texts(1, 0) != texts(2, 0)
    assert texts(1, 0)[5:] == texts(1, 5)[:-5]


def test_rules_hold_for_samples_too() -> None:
    rules = [drawn(seed, "abc", "dense") for seed in range(30)]
    stub = Stub(rules, "abc")
    search = Sampling(n_best=2, min_length=MinLength(plus=2), no_repeat_ngram=2)
    asked = wishes(stub, prefix=["ab"] * 30, banned=[["cc"]] * 30)
    out = drive(stub, 7, search, asked)
    for row in range(30):
        for result in read(stub, out, row):
            written = "".join(result.text.split())
            assert written.startswith("ab")
            assert "cc" not in written
            grams = [written[at : at + 2] for at in range(len(written) - 1)]
            assert len(grams) == len(set(grams))


def test_a_model_that_gives_nan_is_refused() -> None:
    for symbol in "Eab":
        rule: Rule = lambda prefix, s=symbol: {"E": -1.0, "a": -1.0, "b": -1.0, s: math.nan}  # noqa: E731
        with pytest.raises(ValueError, match="does the model give NaN"):
            drive(Stub([rule], "ab"), 3, Sampling(n_best=2))


def test_nan_in_one_of_several_samples_cannot_hide() -> None:
    rows = {(): logs({"a": 0.5, "b": 0.5}), ("b",): {"E": 0.0}, ("a",): {"E": -1.0, "a": math.nan}}
    with pytest.raises(ValueError, match="does the model give NaN"):
        drive(Stub([lambda prefix: rows.get(prefix, {"E": 0.0})], "ab"), 3, Sampling(n_best=9))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0.0}, "temperature: expected above 0; got 0.0"),
        ({"temperature": math.nan}, "temperature: .* got nan"),
        ({"top_k": -1}, "top_k: expected 0 .all. or more; got -1"),
        ({"top_p": 0.0}, "top_p: expected above 0, at most 1; got 0.0"),
        ({"top_p": 1.5}, "top_p: .* got 1.5"),
        ({"seed": -1}, "seed: expected 0 to 2.63 - 1; got -1"),
        ({"n_best": 0}, "n_best: expected at least 1; got 0"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Spec(Search, "sampling", options).build()


def test_defaults_written_out() -> None:
    written = dump_options(Search.family["sampling"], {})
    assert not written.pop("without")
    assert written == {
        "name": "sampling",
        "n_best": 1,
        "temperature": 1.0,
        "top_k": 0,
        "top_p": 1.0,
        "seed": 1,
        "min_length": MinLength().model_dump(),
        "max_length": MaxLength().model_dump(),
        "no_repeat_ngram": 0,
        "repetition_penalty": 1.0,
    }
    plain = Asked.nothing(torch.tensor([3, 4]))
    assert plain.line.tolist() == [0, 1]
