"""Failure kinds from public reports (DEC-*): exact figures of the cases, and the whole kind behind each."""

import itertools
import math
from typing import Any

import pytest
import torch

from tests.helpers import source as random_source
from tests.search.models import (
    LETTERS,
    MODELS,
    everyone,
    forced,
    generated,
    seq2seq,
    target_ids,
    translator,
)
from tests.search.stubs import (
    PENALTIES,
    POLICIES,
    Found,
    Penalty,
    Rule,
    Stub,
    divisor,
    drawn,
    everything,
    logs,
    patient,
    raw,
    run,
    searcher,
    sine,
    tree,
)
from transduce.config import Spec
from transduce.errors import ConfigError
from transduce.model import Seq2Seq
from transduce.search import MaxLength, Search, decode
from transduce.search.beam import BeamSearch
from transduce.translation import Translation
from transduce.types import BOS, EOS, Source

NONE: Penalty = ("none", None)
MEAN: Penalty = ("average", 1.0)
FIGURE = 1e-6


def near(value: float) -> Any:
    return pytest.approx(value, abs=FIGURE)


def pairs(found: list[Found], leaf: str = "score") -> list[tuple[str, float]]:
    return [(result.text, getattr(result, leaf)) for result in found]


# DEC-01: beam 1 is greedy


@pytest.mark.parametrize("penalty", PENALTIES)
def test_DEC_01_beam_one_is_greedy(penalty: Penalty) -> None:
    [[best]] = run(Stub([sine], "abc"), 4, penalty, width=1)
    assert (best.text, best.log_prob, best.finished) == ("b c c b", near(-2.695901), True)
    assert best.score == near(-2.695901 / divisor(5, penalty))


def greedy(model: Seq2Seq, source: Source, limits: list[int]) -> list[tuple[list[int], float]]:
    """The plain loop: the likeliest token each time, EOS in where it came; and the sum."""
    results: list[tuple[list[int], float]] = [([], 0.0) for _ in limits]
    inputs = torch.full((len(limits), 1), BOS)
    for t in range(max(limits) + 1):
        with torch.no_grad():
            log_probs = model(source, inputs).log_probs[:, -1]
        inputs = torch.cat([inputs, log_probs.argmax(dim=1, keepdim=True)], dim=1)
        for row, (ids, total) in enumerate(results):
            token = int(inputs[row, -1])
            if EOS not in ids and (t < limits[row] or (t == limits[row] and token == EOS)):
                results[row] = ([*ids, token], total + log_probs[row, token].item())
    return results


@pytest.fixture(
    scope="module", params=[("gru+additive", 3, 1.0), ("lstm+dot", 2, 0.0), ("gru+multihead", 2, 2.0)]
)
def many(request: pytest.FixtureRequest) -> tuple[Seq2Seq, Source, list[int], list[tuple[list[int], float]]]:
    """67 random sources of one to nine symbols, and what the plain loop makes of them."""
    name, seed, ending = request.param
    model = seq2seq(name, seed, ending=ending)
    source = random_source([1 + n % 9 for n in range(67)], vocab=8, seed=5)
    limits = [2 + n % 7 for n in range(67)]
    return model, source, limits, greedy(model, source, limits)


@pytest.mark.parametrize("penalty", [NONE, ("average", 0.7), ("average", 2.0), ("gnmt", 1.0)])
def test_DEC_01_beam_one_is_the_plain_loop_on_200_random_inputs(many: Any, penalty: Penalty) -> None:
    model, source, limits, plain = many
    search = searcher(penalty, width=1)
    out = decode(model, source, search, bos=BOS, eos=EOS, max_length=torch.tensor(limits))
    lengths = {(len(ids), EOS in ids) for ids, _ in plain}
    assert len(lengths) > 5  # the inputs tell something
    assert {finished for _, finished in lengths} == {False, True}
    for row, (ids, total) in enumerate(plain):
        assert generated(out, row, 0) == ids
        assert out.log_prob[row, 0].item() == near(total)
        assert out.score[row, 0].item() == near(total / divisor(len(ids), penalty))
        assert out.finished[row, 0].item() == (EOS in ids)


@pytest.mark.parametrize("kind", ["dense", "sharp", "sparse", "tied"])
def test_DEC_01_beam_one_is_greedy_on_random_tables(kind: str) -> None:
    rules = [drawn(seed, "abc", kind) for seed in range(60)]
    for penalty in PENALTIES:
        for rule, [best] in zip(rules, run(Stub(rules, "abc"), 5, penalty, width=1), strict=True):
            prefix: tuple[str, ...] = ()
            while prefix[-1:] != ("E",) and len(prefix) < 6:
                row = rule(prefix)
                token = max((s for s in "Eabc" if s in row), key=row.__getitem__)
                if len(prefix) == 5 and token != "E":
                    break
                prefix = (*prefix, token)
            assert best.text.split() == [symbol for symbol in prefix if symbol != "E"]
            assert best.finished == ("E" in prefix)


# DEC-02: hypotheses differ


def test_DEC_02_the_n_best_are_the_exhaustive_top_four() -> None:
    [found] = run(Stub([sine], "abc"), 4, width=5, n_best=4)
    figures = [("b b", -1.914109), ("c a c", -2.150681), ("b c", -2.355545), ("b c c b", -2.695901)]
    assert pairs(found) == [(text, near(score)) for text, score in figures]
    truth = everything(sine, "abc", 4, NONE)[:4]
    assert pairs(found) == [(result.text, near(result.score)) for result in truth]


@pytest.mark.parametrize("kind", ["dense", "sharp", "sparse", "tied"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("width", [2, 3, 5, 9])
def test_DEC_02_no_two_results_are_equal(width: int, policy: str, kind: str) -> None:
    rules = [drawn(seed, "abc", kind) for seed in range(20)] + [sine]
    for penalty in (NONE, MEAN):
        results = run(Stub(rules, "abc"), 5, penalty, width=width, n_best=width, policy=policy)
        for found in results:
            assert len({result.text for result in found}) == len(found)
        assert max(len(found) for found in results) == width


def test_DEC_02_beams_part_at_the_first_step() -> None:
    stub = Stub([sine], "abc")
    run(stub, 4, width=3)
    assert [prefix for _, prefix in stub.asked[0]] == [()]  # one hypothesis, not copies of it
    assert len({prefix for _, prefix in stub.asked[1]}) == 3


# DEC-03: a longer hypothesis may still win


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("width", [2, 3, 4, 8])
def test_DEC_03_search_goes_on_after_the_top_beam_has_ended(width: int, policy: str) -> None:
    [found] = run(Stub([tree], "ab"), 10, MEAN, width=width, n_best=2, policy=policy)
    assert pairs(found) == [("b b", near(-0.375671)), ("a", near(-0.458145))]
    [[best]] = run(Stub([tree], "ab"), 10, MEAN, width=width, policy=policy)
    assert best == found[0]


def slow_burner(length: int, late: float) -> Rule:
    """Ends at once at -1, or after `length` symbols at `late` in all."""

    def rule(prefix: tuple[str, ...]) -> dict[str, float]:
        if not prefix:
            return {"E": -1.0, "a": late}
        return {"a": 0.0} if len(prefix) < length else {"E": 0.0}

    return rule


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("length", [1, 2, 5, 11])
def test_DEC_03_however_late_the_better_end_comes(length: int, policy: str) -> None:
    """The turn lies at -(L + 1): just above it the long one wins, just below it the short one."""
    for late, text in ((-(length + 1) + 1e-6, " ".join("a" * length)), (-(length + 1) - 1e-6, "")):
        for limit in (length, length + 4):
            [[best]] = run(Stub([slow_burner(length, late)], "a"), limit, MEAN, width=2, policy=policy)
            assert best.text == text


# DEC-05, DEC-24: options that cannot go together are refused before any model runs


@pytest.mark.parametrize(("width", "n_best"), [(5, 10), (1, 2), (3, 4)])
def test_DEC_05_n_best_above_the_beam_is_refused_naming_both(width: int, n_best: int) -> None:
    for make in (
        lambda: BeamSearch(width=width, n_best=n_best),
        lambda: Spec(Search, "beam", {"width": width, "n_best": n_best}).build(),
        lambda: translator("lstm+dot", 1, torch.float32).searcher(width=width, n_best=n_best),
    ):
        with pytest.raises(ConfigError) as caught:
            make()
        assert f"n_best {n_best}, width {width}" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_DEC_05_n_best_equal_to_the_beam_is_fine() -> None:
    for width in (1, 5):
        assert BeamSearch(width=width, n_best=width).n_best == width


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("n_best", [1, 2])
@pytest.mark.parametrize("attention", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
def test_DEC_24_every_cell_works_or_says_why(width: int, n_best: int, attention: bool, policy: str) -> None:
    for name in MODELS:
        model = translator(name, 1, torch.float32)
        if n_best > width:
            with pytest.raises(ConfigError, match=f"n_best {n_best}, width {width}$"):
                searcher(width=width, n_best=n_best, policy=policy)
            continue
        search = searcher(width=width, n_best=n_best, policy=policy)
        results = model.translate(["abc", "", "g"], search=search, attention=attention)
        assert [result.source for result in results] == ["abc", "", "g"]
        for result in (results[0], results[2]):
            assert (result.attention is None) == (not attention)
            assert len(result.n_best) <= (0 if n_best == 1 else n_best)


# DEC-07: a larger alpha favours longer outputs


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("alpha", "text", "score"), [(0.0, "a", -0.916291), (1.0, "a", -0.785392), (2.0, "b b", -0.633944)]
)
def test_DEC_07_gnmt_figures(alpha: float, text: str, score: float, policy: str) -> None:
    [[best]] = run(Stub([tree], "ab"), 10, ("gnmt", alpha), width=4, policy=policy)
    assert (best.text, best.score) == (text, near(score))


@pytest.mark.parametrize("name", ["average", "gnmt"])
@pytest.mark.parametrize("policy", POLICIES)
def test_DEC_07_a_larger_alpha_never_shortens(name: str, policy: str) -> None:
    rules = [drawn(seed, "ab", "dense") for seed in range(40)] + [tree]
    stub, longer = Stub(rules, "ab"), 0
    before = [0] * len(rules)
    for alpha in (0.0, 0.3, 0.7, 1.0, 1.5, 2.5, 5.0):
        found = run(stub, 4, (name, alpha), width=48, policy=policy)  # exhaustive
        lengths = [len(best.text.split()) for [best] in found]
        assert all(now >= then for now, then in zip(lengths, before, strict=True))
        longer, before = longer + (sum(lengths) > sum(before)), lengths
    assert longer > 2


# DEC-09: a score is the forced score


@pytest.mark.usefixtures("unchecked")  # ids of pairs are numpy's, which the checks take for no int
@pytest.mark.parametrize("penalty", [NONE, ("average", 1.0)])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-9)])
@pytest.mark.parametrize("name", MODELS)
def test_DEC_09_forced_scores_equal_returned_ones(
    name: str, dtype: torch.dtype, tolerance: float, penalty: Penalty
) -> None:
    sources = ["a", "gfedcba", "abc", "bb", "cafe", "deadbeef"]
    endings = []
    for seed, policy in itertools.product(range(2), POLICIES):
        model = translator(name, seed, dtype, ending=2.0)
        options = {"width": 4, "n_best": 4, "policy": policy, "max_length": MaxLength(ratio=1.0, plus=1)}
        found = everyone(model.translate(sources, search=searcher(penalty, **options)))
        finished = [best for best in found if best.finished]
        scores = model.score([best.source for best in finished], [best.text for best in finished])
        assert [best.log_prob for best in finished] == pytest.approx(scores, abs=tolerance)
        for best in found:
            source = model_source(model, best)
            by_token = forced(model.model, source, 0, target_ids(best.tokens))
            assert best.token_log_probs == pytest.approx(by_token, abs=tolerance)
            assert best.log_prob == pytest.approx(sum(best.token_log_probs), abs=1e-9)
            assert best.score == pytest.approx(
                best.log_prob / divisor(len(best.tokens) or 1, penalty), abs=1e-9
            )
        endings += [best.finished for best in found]
    assert endings.count(True) > 20


def model_source(model: Any, result: Translation) -> Source:
    """One source as the model reads it."""
    ids = [*model.source_tokenizer.encode(result.source).ids, EOS]
    return Source(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool))


def test_DEC_09_unfinished_sums_hold_no_end() -> None:
    [[best]] = run(Stub([patient(9)], "ab"), 3, MEAN, width=1)
    assert not best.finished
    assert (best.log_prob, best.score) == (near(3 * math.log(0.6)), near(math.log(0.6)))


# DEC-10: scores are finite


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("width", [1, 2, 4, 7])
def test_DEC_10_scores_are_finite_and_no_penalty_is_alpha_zero(width: int, policy: str) -> None:
    off: list[Penalty] = [NONE, ("gnmt", 0.0), ("average", 0.0)]
    rules = [tree, sine_of_two, *(drawn(seed, "ab", "sparse") for seed in range(30))]
    stub = Stub(rules, "ab")
    options = {"width": width, "n_best": width, "policy": policy}
    plain, *others = (run(stub, 10, penalty, **options) for penalty in off)
    assert others == [plain, plain]
    for penalty in (*off, MEAN, ("gnmt", 2.0)):
        for found in run(stub, 10, penalty, **options):
            assert found
            assert all(math.isfinite(result.score) and math.isfinite(result.log_prob) for result in found)


def sine_of_two(prefix: tuple[str, ...]) -> Any:
    """DEC-01's stub without its "c"."""
    row = {symbol: value for symbol, value in sine(prefix).items() if symbol != "c"}
    total = math.log(sum(map(math.exp, row.values())))
    return {symbol: value - total for symbol, value in row.items()}


@pytest.mark.parametrize("name", MODELS)
def test_DEC_10_scores_of_random_models_are_finite(name: str) -> None:
    for dtype, penalty in itertools.product(
        (torch.float32, torch.float64), (NONE, ("average", 0.7), ("gnmt", 0.0))
    ):
        model = translator(name, 4, dtype)
        search = searcher(penalty, width=4, n_best=4, max_length=MaxLength(ratio=0.0, plus=6))
        for best in everyone(model.translate([LETTERS[: 1 + n % 7] for n in range(9)], search=search)):
            assert math.isfinite(best.score)
            assert math.isfinite(best.log_prob)
            assert best.log_prob < 0


# DEC-13: a beam wider than what there is


def test_DEC_13_a_wide_beam_over_a_tiny_vocabulary() -> None:
    [found] = run(Stub([tree], "ab"), 10, width=8, n_best=3)
    assert pairs(found) == [("a", near(-0.916291)), ("b b", near(-1.127012)), ("", near(-2.302585))]


@pytest.mark.parametrize("symbols", ["", "a", "ab"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("width", [1, 2, 3, 8, 40])
def test_DEC_13_lists_are_never_padded(width: int, policy: str, symbols: str) -> None:
    rules = [drawn(seed, symbols, kind) for kind in ("dense", "sparse", "tied") for seed in range(8)]
    for limit in (1, 2, 3):
        results = run(Stub(rules, symbols), limit, width=width, n_best=width, policy=policy)
        for rule, found in zip(rules, results, strict=True):
            assert 1 <= len(found) <= width
            assert len({result.text for result in found}) == len(found)
            truth = everything(rule, symbols, limit, NONE)
            if width >= 3 * 2**limit and truth:  # exhaustive
                assert {result.text for result in found} == {result.text for result in truth}


def test_DEC_13_a_vocabulary_of_nothing_but_the_end() -> None:
    for width, policy in itertools.product((1, 2, 8), POLICIES):
        results = run(Stub([drawn(seed, "") for seed in range(3)], ""), 5, width=width, policy=policy)
        assert results == [[Found("", 0.0, 0.0, True)]] * 3


# DEC-14: the limit is the limit


@pytest.mark.parametrize("limit", [1, 2, 5, 0, 3, 17])
def test_DEC_14_the_limit_counts_symbols_without_the_end(limit: int) -> None:
    [[best]] = run(Stub([lambda prefix: logs({"a": 0.99, "E": 0.01})], "a"), limit, width=1)
    assert len(best.text.split()) == limit
    assert not best.finished
    assert best.log_prob == near(limit * math.log(0.99))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("width", [1, 2, 5])
def test_DEC_14_one_symbol_more_or_less(width: int, policy: str) -> None:
    """What needs n symbols fits a limit of n, not one of n - 1; each sentence keeps its own limit."""
    limits = [1, 4, 3, 9, 2, 5, 8]
    for short in (0, 1, 2):
        rules = [patient(limit + short) for limit in limits]
        results = run(Stub(rules, "ab"), limits, width=width, policy=policy)
        for limit, [best] in zip(limits, results, strict=True):
            assert len(best.text.split()) == limit
            assert best.finished == (short == 0)


def test_DEC_14_an_end_right_at_the_limit_counts_under_both_policies() -> None:
    """After "a b" the end is the better half: it completes although no symbol may follow."""
    rule: Rule = lambda prefix: logs({"E": 0.6, "a": 0.4} if len(prefix) == 2 else {"a": 1.0})  # noqa: E731
    for policy, width in itertools.product(POLICIES, (1, 3)):
        [[best]] = run(Stub([rule], "a"), 2, width=width, policy=policy)
        assert best == Found("a a", near(math.log(0.6)), near(math.log(0.6)), True)


def test_DEC_14_translations_say_that_they_were_cut() -> None:
    model = translator("gru+additive", 1, torch.float32, ending=-50.0)
    results = model.translate(["a", "abc"], search=searcher(max_length=MaxLength(ratio=2.0, plus=1)))
    assert [len(result.tokens) for result in results] == [3, 7]  # the source's own EOS is not counted
    assert not any(result.finished for result in results)
    assert model.notes.unfinished == 2


# DEC-15: nothing after the end


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_DEC_15_a_batch_mate_that_takes_longer_changes_nothing(
    penalty: Penalty, policy: str, width: int
) -> None:
    options = {"width": width, "n_best": width, "policy": policy}
    [alone] = run(Stub([tree], "ab"), 10, penalty, **options)
    for rules in ([tree, patient(9)], [patient(9), tree], [tree] * 3 + [patient(9)]):
        results = run(Stub(rules, "ab"), 10, penalty, **options)
        for rule, found in zip(rules, results, strict=True):
            if rule is tree:
                assert found == alone
            else:
                assert {len(result.text.split()) for result in found} == {9}


@pytest.mark.parametrize("width", [1, 4])
def test_DEC_15_rows_are_padded_after_their_end(width: int) -> None:
    rules = [tree, patient(9), patient(3), lambda prefix: logs({"E": 1.0})]
    for order in itertools.permutations(range(4)):
        out = raw(Stub([rules[n] for n in order], "ab"), 10, MEAN, width=width, n_best=width)
        assert [out.length[order.index(n), 0].item() for n in (1, 2, 3)] == [9, 3, 0]
        after = torch.arange(out.tokens.shape[2]) >= out.length.unsqueeze(-1)
        assert not out.tokens[after].any()
        assert out.tokens[~after].gt(1).all()  # 0 and 1 are the start and the end
        past_end = torch.arange(out.token_log_probs.shape[2]) >= (out.length + out.finished).unsqueeze(-1)
        assert not out.token_log_probs[past_end].any()


# DEC-16: attention belongs to its text


@pytest.mark.parametrize("name", MODELS)
def test_DEC_16_attention_is_that_of_forced_decoding(name: str) -> None:
    lengths, seconds = set(), 0
    for seed, policy in itertools.product(range(2, 4), POLICIES):
        model = translator(name, seed, torch.float64, ending=2.0)
        search = searcher(("average", 0.7), width=5, n_best=2, policy=policy)
        results = model.translate(["abcdefg", "a", "gg", "face"], search=search)
        for result in results:
            assert result.attention is result.n_best[0].attention
            seconds += len(result.n_best) == 2
            for best in result.n_best:
                rows, columns = len(best.tokens), len(best.source_tokens)
                assert best.attention is not None
                assert best.attention.shape == (rows, columns)
                plain = forced_attention(model, best)
                torch.testing.assert_close(torch.from_numpy(best.attention), plain, rtol=0, atol=1e-9)
                ones = torch.ones(rows, dtype=torch.float64)
                torch.testing.assert_close(plain.sum(dim=1), ones, rtol=0, atol=1e-9)
                lengths.add(rows)
    assert len(lengths) > 2
    assert seconds > 10


def forced_attention(model: Any, best: Translation) -> torch.Tensor:
    """Rows of a forced pass over one hypothesis alone, heads averaged: one for each token it gave."""
    ids = target_ids(best.tokens)
    inputs = torch.tensor([[BOS, *ids][: len(ids)]])
    with torch.no_grad():
        return model.model(model_source(model, best), inputs, weights=True).weights[0, :, -1].mean(dim=1)
