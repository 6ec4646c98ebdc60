"""Diverse groups against the same over lists; distinct results."""

import math
import random
from collections import Counter
from typing import Any

import pytest

from tests.search.stubs import (
    POLICIES,
    Found,
    Penalty,
    Prefix,
    Rule,
    Stub,
    close,
    divisor,
    drawn,
    forced,
    run,
)
from transduce.errors import ConfigError
from transduce.search import loop
from transduce.search.beam import BeamSearch

KINDS = ("dense", "sharp", "sparse", "tied")
Active = list[tuple[Prefix, float]]


def grouped(rule: Rule, symbols: str, limit: int, penalty: Penalty, options: dict[str, Any]) -> list[Found]:
    """Vijayakumar et al. 2018, Hamming diversity, over lists: (prefix, sum of what ranks it)."""
    width, groups = options["width"] // options["groups"], options["groups"]
    beams: list[Active] = [[((), 0.0)] for _ in range(groups)]
    pool: list[tuple[Prefix, float]] = []
    for step in range(limit + 1):
        said: Counter[str] = Counter()
        ended: list[tuple[Prefix, float]] = []
        before = beams
        beams = []
        for active in before:
            grown = [
                ((*prefix, s), total + (rule(prefix)[s] - options["diversity"] * said[s]))
                for prefix, total in active
                for s in "E" + symbols
                if s in rule(prefix)
            ]
            grown.sort(key=lambda one: -one[1])
            going = [one for one in grown if one[0][-1] != "E"][:width]
            ends = [
                one for one in (grown[:width] if options["policy"] == "top_k" else grown) if one[0][-1] == "E"
            ]
            if width == 1 and options["policy"] == "top_k" and ends:
                going = []
            parents = [prefix for prefix, _ in active]
            ended += sorted(ends, key=lambda one: parents.index(one[0][:-1]))
            said.update(prefix[-1] for prefix, _ in going)
            beams.append(going)
        pool += distinct(ended)
        pool.sort(key=lambda one: -one[1] / divisor(len(one[0]), penalty))
        pool = pool[: options["n_best"]]
        if step == limit:
            beams = before
            break
    results = pool or distinct([one for active in beams for one in active])
    listed = [told(prefix, total, penalty, rule) for prefix, total in results]
    return sorted(listed, key=lambda result: -result.score)[: options["n_best"]]


def distinct(results: Active) -> Active:
    """Of equal sequences the best, of equal scores the first."""
    best: dict[Prefix, float] = {}
    for prefix, total in results:
        best[prefix] = max(best.get(prefix, -math.inf), total)
    kept: Active = []
    for prefix, total in results:
        if total == best[prefix] and prefix not in [one for one, _ in kept]:
            kept.append((prefix, total))
    return kept


def told(prefix: Prefix, total: float, penalty: Penalty, rule: Rule) -> Found:
    finished = prefix[-1:] == ("E",)
    text = " ".join(prefix[: len(prefix) - finished])
    return Found(text, total / divisor(max(len(prefix), 1), penalty), forced(rule, prefix), finished)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", KINDS)
def test_beam_equals_the_same_over_lists(kind: str, policy: str) -> None:
    rng = random.Random(f"{kind} {policy}")
    for width, groups, penalty in ((2, 2, ("none", None)), (4, 2, ("average", 1.0)), (6, 3, ("gnmt", 0.6))):
        rules = [drawn(rng.randrange(10**6), "abcd"[: rng.randint(2, 4)], kind) for _ in range(1)]
        rules += [drawn(rng.randrange(10**6), "abc", kind) for _ in range(9)]
        limits = [rng.randint(1, 6) for _ in rules]
        diversity = rng.choice([0.25, 0.5, 2.0])
        options = {
            "width": width,
            "groups": groups,
            "n_best": width,
            "diversity": diversity,
            "policy": policy,
        }
        results = run(Stub(rules, "abc"), limits, penalty, **options)
        for rule, limit, result in zip(rules, limits, results, strict=True):
            truth = grouped(rule, "abc", limit, penalty, options)
            assert close(result, truth, 1e-9), (options, limit, result, truth)
            assert len({one.text for one in result}) == len(result)


def test_groups_say_what_others_do_not() -> None:
    """The likeliest pair differs in its last symbol alone; far-apart groups differ from the first."""

    def rule(prefix: Prefix) -> dict[str, float]:
        if len(prefix) == 3:
            return {"E": 0.0}
        return {"a": math.log(0.7), "b": math.log(0.3)}

    [plain] = run(Stub([rule], "ab"), 4, width=2, n_best=2)
    [apart] = run(Stub([rule], "ab"), 4, width=2, n_best=2, groups=2, diversity=5.0)
    assert sorted(result.text for result in plain)[0] == "a a a"
    assert {result.text for result in apart} == {"a a a", "b b b"}


@pytest.mark.usefixtures("unchecked")
def test_neighbours_and_the_early_stop_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, limits = (
        [drawn(seed, "abc", KINDS[seed % 4]) for seed in range(20)],
        [1 + n % 6 for n in range(20)],
    )
    options = {"width": 4, "groups": 2, "n_best": 3, "diversity": 0.5}
    single = [
        run(Stub([rule], "abc"), limit, ("average", 1.0), **options)[0]
        for rule, limit in zip(rules, limits, strict=True)
    ]
    for seed in range(3):
        rows = random.Random(seed).sample(range(20), 8 + 4 * seed)
        together = run(
            Stub([rules[n] for n in rows], "abc"), [limits[n] for n in rows], ("average", 1.0), **options
        )
        assert together == [single[n] for n in rows]
    with monkeypatch.context() as patch:
        patch.setattr(loop, "settled", lambda live, growth, search, step: step >= live.limit)
        assert run(Stub(rules, "abc"), limits, ("average", 1.0), **options) == single


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 5, "groups": 2, "diversity": 1.0}, "width 5, groups 2"),
        ({"groups": 0}, "groups 0"),
        ({"width": 4, "groups": 2}, "groups 2, diversity 0.0"),
        ({"diversity": 0.5}, "groups 1, diversity 0.5"),
        ({"width": 4, "groups": 2, "diversity": -1.0}, "diversity -1.0"),
        ({"width": 4, "groups": 2, "diversity": math.inf}, "diversity inf"),
    ],
)
def test_pairs_that_cannot_work_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BeamSearch(**options)
