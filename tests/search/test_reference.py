"""The readable beam search against REFERENCE §5, and against every sequence there is."""

import itertools
import math

import pytest

from tests.search.stubs import (
    PENALTIES,
    POLICIES,
    Penalty,
    Prefix,
    Row,
    drawn,
    everything,
    expected,
    forced,
    logs,
    patient,
    sine,
    stepper,
    tree,
)
from transduce.search.reference import beam_search, n_best


def toy(prefix: Prefix) -> Row:
    table = {(): {"A": 0.6, "B": 0.4}, ("A",): {"x": 0.5, "y": 0.5}, ("B",): {"x": 0.95, "y": 0.05}}
    return logs(table.get(prefix, {"E": 1.0}))


TOY = stepper(toy, "ABxy")


@pytest.mark.parametrize("policy", POLICIES)
def test_the_toy_model(policy: str) -> None:
    greedy = beam_search(TOY, "S", "E", 1, 3, 0.0, policy=policy)
    assert greedy == (("S", "A", "x", "E"), pytest.approx(-1.2040, abs=5e-5), True)
    wide = beam_search(TOY, "S", "E", 4, 3, 0.0, policy=policy)
    assert wide == (("S", "B", "x", "E"), pytest.approx(-0.9676, abs=5e-5), True)


def test_the_toy_model_by_default_and_by_position() -> None:
    assert beam_search(TOY, "S", "E")[0] == ("S", "B", "x", "E")
    assert beam_search(TOY, "S", "E", 4, 3, 0.0) == beam_search(
        TOY, start="S", eos="E", beam_size=4, max_len=3, alpha=0.0
    )


def test_the_toy_model_cut_short_is_unfinished() -> None:
    assert beam_search(TOY, "S", "E", 4, 2, 0.0) == (("S", "B", "x"), pytest.approx(math.log(0.38)), False)
    assert beam_search(TOY, "S", "E", 4, 1, 0.0) == (("S", "A"), pytest.approx(math.log(0.6)), False)


def table(prefix: Prefix) -> Row:
    """Two sequences: 4 tokens at -2.5 and 12 tokens at -4.0, each end counted."""
    if not prefix:
        return {"s": -2.5, "l": -4.0}
    return {"E": 0.0} if len(prefix) == {"s": 3, "l": 11}[prefix[0]] else {prefix[0]: 0.0}


@pytest.mark.parametrize(
    ("alpha", "short", "long"), [(0.0, -2.5, -4.0), (0.6, -1.9601, -2.1413), (1.0, -1.6667, -1.4118)]
)
def test_the_worked_gnmt_table(alpha: float, short: float, long: float) -> None:
    both = expected(table, "sl", 11, ("gnmt", alpha), 2, "pools")
    scores = {result.text[0]: result.score for result in both}
    assert scores == {"s": pytest.approx(short, abs=5e-5), "l": pytest.approx(long, abs=5e-5)}
    winner = beam_search(stepper(table, "sl"), "S", "E", 2, 12, alpha, penalty="gnmt")
    assert winner[0][1] == ("s" if short > long else "l")
    assert winner[1] == {"s": -2.5, "l": -4.0}[winner[0][1]]  # raw, whatever ranked it


def test_average_normalisation_counts_the_end_and_not_the_start() -> None:
    """Per token -2.5/4 = -0.625 and -4/12 = -0.333; with BOS counted α = .7 would turn at other figures."""
    for alpha in (0.0, 0.3, 0.5, 0.7, 1.0):
        winner = beam_search(stepper(table, "sl"), "S", "E", 2, 12, alpha)
        assert winner[0][1] == ("s" if -2.5 / 4**alpha > -4.0 / 12**alpha else "l")
    turn = math.log(4.0 / 2.5) / math.log(12 / 4)  # where both score alike
    assert beam_search(stepper(table, "sl"), "S", "E", 2, 12, turn - 1e-6)[0][1] == "s"
    assert beam_search(stepper(table, "sl"), "S", "E", 2, 12, turn + 1e-6)[0][1] == "l"


@pytest.mark.parametrize("changes", [{"beam_size": 0}, {"beam_size": -2}, {"max_len": 0}, {"max_len": -1}])
def test_sizes_below_one_are_refused(changes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"at least 1; got .*{next(iter(changes.values()))}"):
        beam_search(TOY, "S", "E", **changes)


@pytest.mark.parametrize("alpha", [-0.1, -1e-9, math.nan])
def test_a_negative_alpha_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha at least 0; got"):
        beam_search(TOY, "S", "E", alpha=alpha)


@pytest.mark.parametrize("token", ["E", 1])
def test_start_and_end_must_differ(token: str | int) -> None:
    with pytest.raises(ValueError, match="start and eos to differ"):
        beam_search(TOY, token, token)


@pytest.mark.parametrize("bad", [math.nan, 1e-9, 0.5, math.inf])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_no_log_probability_is_refused(bad: float, place: int) -> None:
    row = [("a", -1.0), ("b", -1.0), ("E", -1.0)]
    row[place] = (row[place][0], bad)
    with pytest.raises(ValueError, match=f"at most 0 for '{row[place][0]}'; got {bad}"):
        beam_search(lambda prefix: row, "S", "E")


def test_nothing_finite_is_an_error() -> None:
    for row in ([], [("a", -math.inf), ("E", -math.inf)]):
        with pytest.raises(ValueError, match="finite hypothesis"):
            beam_search(lambda prefix, row=row: row, "S", "E")
    dead_end = {(): {"a": 0.0}}
    with pytest.raises(ValueError, match="finite hypothesis"):
        beam_search(stepper(lambda prefix: dead_end.get(prefix, {}), "a"), "S", "E")


def test_impossible_continuations_are_skipped() -> None:
    row = [("a", -math.inf), ("b", -1.0), ("E", -math.inf)]
    assert beam_search(lambda prefix: row, "S", "E", 3, 2) == (("S", "b", "b"), -2.0, False)
    assert len(n_best(lambda prefix: row, "S", "E", 3, 2, 0.0, "pools", "none")) == 1
    row = [("a", -math.inf), ("b", -1.0), ("E", -5.0)]
    for policy in POLICIES:
        results = n_best(lambda prefix: row, "S", "E", 4, 2, 0.0, policy, "none")
        assert [c.prefix for c in results] == [("S", "E"), ("S", "b", "E")]


@pytest.mark.parametrize("policy", POLICIES)
def test_ties_keep_insertion_order(policy: str) -> None:
    for order in itertools.permutations("ab"):
        step = {("S",): [(token, -1.0) for token in order]}
        best = beam_search(lambda p, step=step: step.get(tuple(p), [("E", 0.0)]), "S", "E", 2, policy=policy)
        assert best == (("S", order[0], "E"), -1.0, True)
        cut = beam_search(lambda p, step=step: step.get(tuple(p), []), "S", "E", 1, 1, policy=policy)
        assert cut == (("S", order[0]), -1.0, False)


def test_ties_of_one_step_keep_the_order_of_their_parents() -> None:
    rule = {(): {"a": -1.0, "b": -2.0}, ("a",): {"E": -2.0}, ("b",): {"E": -1.0}}
    results = n_best(stepper(rule.__getitem__, "ab"), "S", "E", 2, 2, 0.0, "pools", "none")
    assert [c.prefix[1] for c in results] == ["a", "b"]


def test_the_end_is_never_expanded() -> None:
    asked = []

    def step(prefix: Prefix) -> list[tuple[str, float]]:
        asked.append(prefix)
        return [("E", -0.1), ("a", -0.2)]

    for policy in POLICIES:
        beam_search(step, "S", "E", 3, 4, policy=policy)
    assert asked
    assert not [prefix for prefix in asked if "E" in prefix]


def test_policies_differ_where_the_end_ranks_below_the_beam() -> None:
    """The end is third of three: `top_k` of two ignores it, `pools` takes it."""
    step = stepper(lambda prefix: {"a": -1.0, "b": -1.1, "E": -1.2}, "ab")
    pools = n_best(step, "S", "E", 2, 3, 0.0, "pools", "none")
    assert pools[0].prefix == ("S", "E")
    top_k = beam_search(step, "S", "E", 2, 3, 0.0, policy="top_k")
    assert top_k == (("S", "a", "a", "a"), -3.0, False)


def test_top_k_refills_from_what_does_not_end() -> None:
    """The end takes one of the two best places, and yet both "a" and "b" go on."""
    rule = {(): {"E": -0.1, "a": -2.0, "b": -3.0}, ("a",): {"E": -9.0}, ("b",): {"E": 0.0}}
    results = expected(rule.__getitem__, "ab", 2, ("none", None), 2, "top_k")
    assert [(r.text, r.log_prob) for r in results] == [("", -0.1), ("b", -3.0)]


def test_top_k_of_one_is_over_when_its_hypothesis_ends() -> None:
    rule = lambda prefix: {"E": -1.0, "a": -1.5} if not prefix else {"E": 0.0}  # noqa: E731
    assert beam_search(stepper(rule, "a"), "S", "E", 1, 9, 1.0, policy="top_k")[0] == ("S", "E")
    assert beam_search(stepper(rule, "a"), "S", "E", 1, 9, 1.0, policy="pools")[0] == ("S", "a", "E")


@pytest.mark.parametrize("policy", POLICIES)
def test_end_early_takes_only_ends_at_the_last_token(policy: str) -> None:
    step = stepper(patient(3), "ab")
    for width in (1, 2, 5):
        whole = beam_search(step, "S", "E", width, 4, 0.0, policy=policy, end_early=True)
        assert whole == (("S", "a", "a", "a", "E"), pytest.approx(3 * math.log(0.6)), True)
        cut = beam_search(step, "S", "E", width, 3, 0.0, policy=policy, end_early=True)
        assert cut == (("S", "a", "a"), pytest.approx(2 * math.log(0.6)), False)
        plain = beam_search(step, "S", "E", width, 3, 0.0, policy=policy)
        assert plain == (("S", "a", "a", "a"), pytest.approx(3 * math.log(0.6)), False)
    assert beam_search(step, "S", "E", 2, 1, 0.0, policy=policy, end_early=True) == (("S",), 0.0, False)


RULES = {"sine": (sine, "abc"), "tree": (tree, "ab")} | {
    f"{kind} {seed}": (drawn(seed, "ab", kind), "ab")
    for kind in ("dense", "sharp", "sparse", "tied")
    for seed in range(6)
}


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", RULES)
def test_a_wide_beam_finds_what_brute_force_finds(name: str, policy: str, penalty: Penalty) -> None:
    rule, symbols = RULES[name]
    truth = everything(rule, symbols, 4, penalty)
    width = (len(symbols) + 1) * len(symbols) ** 4
    results = expected(rule, symbols, 4, penalty, width, policy)
    if not truth:
        assert not any(result.finished for result in results)
        return
    assert [r.score for r in results] == pytest.approx([r.score for r in truth], abs=1e-12)
    assert {r.text for r in results} == {r.text for r in truth}
    for result in results:
        assert result.log_prob == pytest.approx(forced(rule, (*result.text.split(), "E")), abs=1e-12)


def test_top_k_of_one_takes_the_likeliest_token_each_time() -> None:
    for seed in range(50):
        rule, prefix = drawn(seed, "abc", "sharp"), ()
        while len(prefix) < 6 and prefix[-1:] != ("E",):
            row = rule(prefix)
            prefix = (*prefix, max("Eabc", key=row.__getitem__))
        for alpha in (0.0, 0.7, 2.0):
            best = beam_search(stepper(rule, "abc"), "S", "E", 1, 6, alpha, policy="top_k")
            assert best == (("S", *prefix), pytest.approx(forced(rule, prefix)), prefix[-1] == "E")
