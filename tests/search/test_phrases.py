"""Phrases that must appear: dynamic beam allocation against the same over lists, and what it promises."""

import math
import random
from collections.abc import Sequence

import pytest
import torch

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
    everything,
    forced,
    found,
    run,
    wishes,
)
from transduce.errors import ConfigError
from transduce.search import loop
from transduce.search.beam import BeamSearch
from transduce.search.phrases import begun, round_robin
from transduce.search.sampling import Sampling

KINDS = ("dense", "sharp", "tied")
CHOICES = [[], ["a"], ["ab"], ["c", "bb"], ["abc"], ["aa", "ab"], ["ba", "ab", "c"], ["cc", "c"]]


def missing(written: str, phrases: Sequence[str]) -> list[str]:
    return [phrase for phrase in phrases if phrase not in written]


def bank(written: str, phrases: Sequence[str]) -> int:
    """Tokens of phrases that are there: whole ones, and the longest beginning of another at the end."""
    partial = [n for p in missing(written, phrases) for n in range(len(p) + 1) if written.endswith(p[:n])]
    return sum(len(p) for p in phrases if p in written) + max(partial, default=0)


def following(written: str, phrase: str) -> str:
    """The symbol that the phrase needs next."""
    return phrase[max(n for n in range(len(phrase)) if written.endswith(phrase[:n]))]


def constrained(
    rule: Rule, symbols: str, limit: int, penalty: Penalty, width: int, policy: str, phrases: Sequence[str]
) -> list[Found]:
    """Post & Vilar 2018 for one sentence, over lists."""
    active: list[tuple[Prefix, float]] = [((), 0.0)]
    ended: list[tuple[Prefix, float]] = []
    for step in range(limit + 1):
        grown = []
        for prefix, total in active:
            written, row = "".join(prefix), dict(rule(prefix))
            if missing(written, phrases):
                row.pop("E", None)
            order = sorted("E" + symbols, key=lambda s: -row.get(s, -math.inf))
            tried = set(order[: 1 + width]) | {following(written, p) for p in missing(written, phrases)}
            grown += [((*prefix, s), total + row[s]) for s in "E" + symbols if s in tried and s in row]
        grown.sort(key=lambda one: -one[1])
        banks: dict[int, list[tuple[Prefix, float]]] = {}
        for one in grown:
            banks.setdefault(bank("".join(one[0]).rstrip("E"), phrases), []).append(one)
        turns = [(turn, -key, one) for key, several in banks.items() for turn, one in enumerate(several)]
        ranked = [one for *_, one in sorted(turns, key=lambda each: each[:2])]
        rows = [(prefix, total, rule(prefix)) for prefix, total in active]
        every = [
            ((*prefix, "E"), total + row["E"])
            for prefix, total, row in rows
            if "E" in row and not missing("".join(prefix), phrases)
        ]
        ends = ranked[:width] if policy == "top_k" else every
        ended += sorted((one for one in ends if one[0][-1] == "E"), key=lambda one: place(one, active))
        ended.sort(key=lambda one: -one[1] / divisor(len(one[0]), penalty))
        if step == limit:
            break
        active = [one for one in ranked if one[0][-1] != "E"][:width]
        if not active:
            break
    left = ended[:width] or [one for one in active if not missing("".join(one[0]), phrases)]
    results = [found(prefix, total, penalty) for prefix, total in left]
    return sorted(results, key=lambda result: -result.score)


def place(one: tuple[Prefix, float], active: list[tuple[Prefix, float]]) -> int:
    return [prefix for prefix, _ in active].index(one[0][:-1])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", KINDS)
def test_beam_equals_the_same_over_lists(kind: str, policy: str) -> None:
    """Sentences with many phrases, with few and with none, in one batch."""
    rng = random.Random(f"{kind} {policy}")
    for width, penalty in ((2, ("none", None)), (3, ("average", 1.0)), (5, ("gnmt", 1.0))):
        symbols = "abcdefg"[: rng.choice([3, 7])] if width > 2 else "abcdefg"
        rules = [drawn(rng.randrange(10**6), symbols, kind) for _ in range(10)]
        limits, phrases = [rng.randint(6, 8) for _ in rules], [rng.choice(CHOICES) for _ in rules]
        stub = Stub(rules, symbols)
        options = {"width": width, "n_best": width, "policy": policy}
        results = run(stub, limits, penalty, wishes(stub, phrases=phrases), **options)
        for rule, limit, held, result in zip(rules, limits, phrases, results, strict=True):
            truth = constrained(rule, symbols, limit, penalty, width, policy, held)
            assert close(result, truth, 1e-9), (held, result, truth)


@pytest.mark.usefixtures("unchecked")
def test_every_output_holds_its_phrases_though_the_model_hates_them() -> None:
    """Also where there is only just room, under both policies, finished or not."""

    def rule(prefix: Prefix) -> dict[str, float]:
        return {"E": -0.01, "a": -5.0, "b": -60.0, "c": -80.0}

    for policy in POLICIES:
        for width in (2, 3, 6):
            for phrases in CHOICES[1:]:
                stub, least = Stub([rule], "abc"), len("".join(phrases))
                for limit in (least, least + 3):
                    asked = wishes(stub, phrases=[phrases])
                    [results] = run(stub, limit, asked=asked, width=width, n_best=width, policy=policy)
                    assert results
                    for result in results:
                        written = "".join(result.text.split())
                        assert not missing(written, phrases)
                        ends = ("E",) * result.finished
                        assert result.log_prob == pytest.approx(forced(rule, (*written, *ends)))


def test_a_wide_beam_finds_the_best_that_holds_them() -> None:
    for seed in range(12):
        rule, phrases = drawn(seed, "ab", "dense"), [["ab"], ["bb", "a"], ["aba"]][seed % 3]
        stub = Stub([rule], "ab")
        asked = wishes(stub, phrases=[phrases])
        [results] = run(stub, 4, ("average", 1.0), asked, width=200, n_best=5, policy="pools")
        every = everything(rule, "ab", 4, ("average", 1.0))
        truth = [one for one in every if not missing("".join(one.text.split()), phrases)][:5]
        assert close(results, truth)


@pytest.mark.usefixtures("unchecked")
def test_neighbours_and_the_early_stop_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(2)
    rules, limits = (
        [drawn(seed, "abc", KINDS[seed % 3]) for seed in range(20)],
        [6 + n % 3 for n in range(20)],
    )
    phrases, banned = [rng.choice(CHOICES) for _ in rules], [rng.choice([[], ["bc"]]) for _ in rules]
    banned = [[] if "abc" in held else bans for held, bans in zip(phrases, banned, strict=True)]

    def together(rows: Sequence[int]) -> list[list[Found]]:
        stub = Stub([rules[n] for n in rows], "abc")
        asked = wishes(stub, phrases=[phrases[n] for n in rows], banned=[banned[n] for n in rows])
        return run(stub, [limits[n] for n in rows], ("average", 1.0), asked, width=4, n_best=4)

    single = [together([n])[0] for n in range(20)]
    for seed in range(3):
        rows = random.Random(seed).sample(range(20), 9 + seed)
        assert together(rows) == [single[n] for n in rows]
    with monkeypatch.context() as patch:
        patch.setattr(loop, "settled", lambda live, growth, search, step: step >= live.limit)
        assert together(range(20)) == single


def test_how_much_of_a_phrase_stands_at_the_end() -> None:
    phrases = torch.tensor([[[5, 5, 6], [6, 5, -1], [7, -1, -1]]])
    tails = {(-2, 5, 5): [2, 0, 0], (5, 5, 6): [3, 1, 0], (5, 6, 5): [1, 2, 0], (4, 4, 7): [0, 0, 1]}
    for tail, counts in tails.items():
        assert begun(torch.tensor([[tail]]), phrases).tolist() == [[counts]]


def test_places_go_round_the_banks_the_fullest_first() -> None:
    score = torch.tensor([[-1.0, -2.0, -3.0, -4.0, -math.inf]], dtype=torch.float64)
    bank = torch.tensor([[0, 0, 1, 1, 2]])
    assert round_robin(score, bank).tolist() == [[2, 0, 3, 1, 4]]


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (BeamSearch(width=1), "phrases with width 1"),
        (BeamSearch(width=4, groups=2, diversity=1.0), "groups 2"),
        (BeamSearch(no_repeat_ngram=2), "no_repeat_ngram 2"),
        (Sampling(), "search 'sampling'"),
    ],
)
def test_a_search_that_cannot_promise_them_refuses_them(search: BeamSearch | Sampling, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        search.check_phrases()
    BeamSearch(width=2).check_phrases()
