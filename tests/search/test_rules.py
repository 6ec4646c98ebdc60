"""What may follow: each rule against the same rule over lists, in the whole search."""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from tests.search.stubs import (
    POLICIES,
    Found,
    Prefix,
    Row,
    Rule,
    Stub,
    close,
    drawn,
    drive,
    expected,
    forced,
    patient,
    read,
    run,
    wishes,
)
from transduce.config import Spec
from transduce.errors import ConfigError, ModelError
from transduce.search import MaxLength, MinLength, Search, loop
from transduce.search.rules import Rules, check_lengths
from transduce.types import Source

KINDS = ("dense", "sharp", "sparse", "tied")
Change = Callable[[Prefix, str, float], float]


def changed(rule: Rule, change: Change) -> Rule:
    """A rule as a control leaves it; what becomes impossible is left out."""

    def after(prefix: Prefix) -> Row:
        row = {symbol: change(prefix, symbol, value) for symbol, value in rule(prefix).items()}
        return {symbol: value for symbol, value in row.items() if value > -math.inf}

    return after


def least(count: int) -> Change:
    return lambda prefix, symbol, value: -math.inf if symbol == "E" and len(prefix) < count else value


def no_repeat(size: int) -> Change:
    def change(prefix: Prefix, symbol: str, value: float) -> float:
        whole = (*prefix, symbol)
        grams = [whole[at : at + size] for at in range(len(whole) - size + 1)]
        return -math.inf if symbol != "E" and len(grams) > len(set(grams)) else value

    return change


def penalised(factor: float) -> Change:
    return lambda prefix, symbol, value: value * factor if symbol in prefix else value


def begin_with(start: str) -> Change:
    def change(prefix: Prefix, symbol: str, value: float) -> float:
        return value if len(prefix) >= len(start) or symbol == start[len(prefix)] else -math.inf

    return change


def lacking(phrases: Sequence[str]) -> Change:
    def change(prefix: Prefix, symbol: str, value: float) -> float:
        return -math.inf if any("".join((*prefix, symbol)).endswith(phrase) for phrase in phrases) else value

    return change


def combined(*changes: Change) -> Change:
    def change(prefix: Prefix, symbol: str, value: float) -> float:
        for one in changes:
            value = one(prefix, symbol, value)
        return value

    return change


# options, what is asked, and the same over lists
CONTROLS: dict[str, tuple[dict[str, Any], dict[str, Any], Change]] = {
    "min_length": ({"min_length": MinLength(plus=2)}, {}, least(2)),
    "no_repeat 1": ({"no_repeat_ngram": 1}, {}, no_repeat(1)),
    "no_repeat 2": ({"no_repeat_ngram": 2}, {}, no_repeat(2)),
    "no_repeat 3": ({"no_repeat_ngram": 3}, {}, no_repeat(3)),
    "repetition": ({"repetition_penalty": 1.7}, {}, penalised(1.7)),
    "prefix": ({}, {"prefix": "ba"}, begin_with("ba")),
    "banned": ({}, {"banned": ["ab", "c", "bbb"]}, lacking(["ab", "c", "bbb"])),
    "min and repetition": (
        {"min_length": MinLength(plus=3), "repetition_penalty": 1.2},
        {},
        combined(penalised(1.2), least(3)),
    ),
    "prefix and banned": (
        {"repetition_penalty": 1.2},
        {"prefix": "ac", "banned": ["ca", "b"]},
        combined(begin_with("ac"), penalised(1.2), lacking(["ca", "b"])),
    ),
}


def asked_of(stub: Stub, asked: dict[str, Any]) -> Any:
    return wishes(stub, **{key: [value] * len(stub.rules) for key, value in asked.items()})


def agrees(found: Found, rule: Rule) -> bool:
    """Whether `log_prob` is the model's own, whatever ranked it."""
    generated = (*found.text.split(), *("E",) * found.finished)
    return math.isclose(found.log_prob, forced(rule, generated), abs_tol=1e-9)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", CONTROLS)
def test_beam_equals_the_reference_under_the_same_rule(name: str, policy: str) -> None:
    options, asked, change = CONTROLS[name]
    rng = random.Random(f"{name} {policy}")
    compared = 0
    for kind in KINDS:
        width, penalty = rng.choice([1, 2, 4]), rng.choice([("none", None), ("average", 1.0), ("gnmt", 0.6)])
        rules = [drawn(rng.randrange(10**6), "abc", kind) for _ in range(8)]
        limits = [3 + n % 4 for n in range(8)]
        kept = [
            (r, n)
            for r, n in zip(rules, limits, strict=True)
            if possible(changed(r, change), n, width, policy)
        ]
        rules, limits = [r for r, _ in kept], [n for _, n in kept]
        if not rules:
            continue
        stub = Stub(rules, "abc")
        all_options = {"width": width, "n_best": width, "policy": policy, **options}
        results = run(stub, limits, penalty, asked_of(stub, asked), **all_options)
        for rule, limit, result in zip(rules, limits, results, strict=True):
            truth = expected(changed(rule, change), "abc", limit, penalty, width, policy)
            own = [r._replace(log_prob=t.log_prob) for r, t in zip(result, truth, strict=True)]
            assert close(own, truth, 1e-9)
            assert all(agrees(found, rule) for found in result)
            compared += 1
    assert compared > 15


def possible(rule: Rule, limit: int, width: int, policy: str) -> bool:
    """Whether the rule leaves the reference anything to say."""
    try:
        return bool(expected(rule, "abc", limit, ("none", None), width, policy))
    except ValueError:
        return False


@pytest.mark.parametrize("name", CONTROLS)
def test_stopping_early_never_changes_a_result(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options, asked, _ = CONTROLS[name]
    rules = [drawn(seed, "abc", "dense") for seed in range(12)]
    stub = Stub(rules, "abc")
    chosen = {"width": 3, "n_best": 2, **options}
    results = run(stub, 6, ("average", 1.0), asked_of(stub, asked), **chosen)
    with monkeypatch.context() as patch:
        patch.setattr(loop, "settled", lambda live, growth, search, step: step >= live.limit)
        assert run(stub, 6, ("average", 1.0), asked_of(stub, asked), **chosen) == results


@pytest.mark.usefixtures("unchecked")
def test_each_sentence_has_its_own_wishes_and_neighbours_change_none() -> None:
    """Sentences leave at all times, beams reorder, and lists of wishes differ in length."""
    rng = random.Random(5)
    rules = [drawn(seed, "abc", KINDS[seed % 2]) for seed in range(30)] + [patient(1 + n) for n in range(6)]
    limits = [2 + n % 7 for n in range(36)]
    prefixes = [rng.choice(["", "a", "cb", "bab"]) if n < 30 else "" for n in range(36)]
    banned = [rng.choice([[], ["aa"], ["b", "cac"]]) if n < 30 else [] for n in range(36)]
    banned = [[b for b in bans if b not in start] for bans, start in zip(banned, prefixes, strict=True)]
    options = {"width": 3, "n_best": 3, "no_repeat_ngram": 3, "repetition_penalty": 1.1}
    options["min_length"] = MinLength(plus=1)

    def together(rows: Sequence[int]) -> list[list[Found]]:
        stub = Stub([rules[n] for n in rows], "abc", [1 + n % 3 for n in rows])
        asked = wishes(stub, prefix=[prefixes[n] for n in rows], banned=[banned[n] for n in rows])
        return run(stub, [max(limits[n], len(prefixes[n])) for n in rows], ("average", 1.0), asked, **options)

    single = [together([n])[0] for n in range(36)]
    for n, results in enumerate(single):
        for found in results:
            written = "".join(found.text.split())
            assert written.startswith(prefixes[n])
            assert not any(phrase in written for phrase in banned[n])
            assert len(written) >= 1
    for seed, size in ((1, 36), (2, 36), (3, 17), (4, 3)):
        rows = random.Random(seed).sample(range(36), size)
        assert together(rows) == [single[n] for n in rows]


def test_a_prefix_is_kept_though_it_repeats() -> None:
    stub = Stub([drawn(3, "ab", "dense")], "ab")
    [[best]] = run(stub, 6, asked=wishes(stub, prefix=["aaa"]), width=2, no_repeat_ngram=1)
    assert best.text.split()[:3] == ["a", "a", "a"]
    assert best.text.split()[3:] in ([], ["b"])


def test_the_least_length_counts_symbols_by_the_source() -> None:
    rules = [lambda prefix: {"E": math.log(0.9), "a": math.log(0.1)}] * 3
    stub = Stub(rules, "a", [1, 3, 6])
    results = run(stub, 9, width=2, min_length=MinLength(ratio=0.5, plus=1))
    assert [len(best.text.split()) for [best] in results] == [1, 2, 4]  # floor(length / 2) + 1


def test_what_leaves_nothing_to_say_is_said() -> None:
    stub = Stub([drawn(1, "a", "dense")], "a")
    search = Spec(Search, "beam", {"width": 2}).build()
    asked = wishes(stub, banned=[["a"]])
    stub.rules = [lambda prefix: {"a": 0.0}]
    with pytest.raises(ModelError, match="options leave it nothing to say"):
        drive(stub, 4, search, asked)
    assert read(stub, drive(stub, 4, search), 0)


def test_what_fills_up_a_shorter_list_forbids_nothing() -> None:
    stub = Stub([drawn(1, "ab")] * 2, "ab")
    source = Source(torch.zeros(2, 1, dtype=torch.long), torch.ones(2, 1, dtype=torch.bool))
    asked = wishes(stub, banned=[["a", "ba"], ["b"]])
    search = Spec(Search, "beam").build()
    beam = loop.begin(stub, source, search, 0, torch.tensor([3, 3]), asked)[0].beam
    values = search.rules(torch.zeros(2, 1, 4), beam, 1)
    assert values.squeeze(1).isneginf().tolist() == [[False, False, True, False], [False, False, False, True]]


def test_rules_that_are_off_cost_nothing() -> None:
    rules = Rules(MinLength(), MaxLength(), 0, 1.0, ())
    stub = Stub([drawn(1, "ab")], "ab")
    values = torch.zeros(1, 1, 4)
    source = Source(torch.zeros(1, 1, dtype=torch.long), torch.ones(1, 1, dtype=torch.bool))
    beam = loop.begin(stub, source, Spec(Search, "beam").build(), 0, torch.tensor([3]), None)[0].beam
    assert rules(values, beam, 1) is values


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"no_repeat_ngram": -1}, "no_repeat_ngram: expected 0 .off. or more; got -1"),
        ({"repetition_penalty": 0.5}, "repetition_penalty: expected 1 .off. or more; got 0.5"),
        ({"repetition_penalty": math.nan}, "repetition_penalty: .* got nan"),
        ({"without": ["a", ""]}, "without: expected phrases; got an empty one"),
        ({"min_length": MinLength(ratio=-1.0)}, "min_length: expected ratio at least 0; got -1.0"),
        (
            {"min_length": MinLength(plus=5), "max_length": MaxLength(ratio=0.0, plus=4)},
            r"min_length \{'ratio': 0.0, 'plus': 5\} and max_length \{'ratio': 0.0, 'plus': 4\}",
        ),
        ({"min_length": MinLength(ratio=3.0)}, "min_length at most max_length for every source"),
    ],
)
@pytest.mark.parametrize("name", list(Search.family))
def test_options_that_cannot_work_are_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Spec(Search, name, options).build()


def test_lengths_that_pass_leave_room_for_every_source() -> None:
    rng = random.Random(1)
    lengths = torch.arange(1, 200)
    for _ in range(300):
        most = MaxLength(ratio=rng.choice([0.0, 0.5, 1.1, 2.0]), plus=rng.randint(-2, 6))
        less = MinLength(ratio=rng.choice([0.0, 0.5, 0.9, 1.1, 2.0]), plus=rng.randint(-2, 6))
        try:
            check_lengths(less, most)
        except ConfigError:
            continue
        assert (less.of(lengths) <= most.of(lengths)).all()
