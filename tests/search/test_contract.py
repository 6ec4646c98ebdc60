"""The laws of search: the fast loop does what the readable one does, for every policy and penalty."""

import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.helpers import alone
from tests.helpers import source as random_source
from tests.search import models, stubs
from tests.search.stubs import (
    PENALTIES,
    POLICIES,
    Found,
    Penalty,
    Prefix,
    Row,
    Rule,
    Stub,
    close,
    drawn,
    everything,
    expected,
    found,
    logs,
    patient,
    raw,
    run,
    searcher,
    sine,
    tree,
)
from transduce.config import Spec
from transduce.model import Seq2Seq
from transduce.search import Asked, Beam, Decoded, MinLength, Search, decode, loop, reference
from transduce.types import BOS, EOS, Output, Source, select

KINDS = ("dense", "sharp", "sparse", "tied")
WIDTHS = (1, 2, 3, 5, 8)


# engine == reference


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", KINDS)
def test_beam_equals_the_reference_on_random_tables(kind: str, policy: str, penalty: Penalty) -> None:
    """Whole n-best lists, in one batch of mixed limits: ties, narrow choices and short limits among them."""
    rng = random.Random(f"{kind} {policy} {penalty}")
    for width in WIDTHS:
        seeds, symbols = rng.sample(range(10**6), 12), rng.choice(["a", "ab", "abcd"])
        rules, limits = [drawn(seed, symbols, kind) for seed in seeds], [rng.randint(1, 7) for _ in seeds]
        n_best = rng.choice([1, (width + 1) // 2, width])
        options = {"width": width, "n_best": n_best, "policy": policy}
        results = run(Stub(rules, symbols), limits, penalty, **options)
        for rule, limit, result in zip(rules, limits, results, strict=True):
            truth = expected(rule, symbols, limit, penalty, width, policy)[:n_best]
            assert close(result, truth), (options, limit, result, truth)


def mostly_going(seed: int, symbols: str, ending: float) -> Rule:
    """A random table whose end has this chance at every step."""
    table = drawn(seed, symbols, "dense")

    def rule(prefix: Prefix) -> Row:
        row = {symbol: math.exp(value) for symbol, value in table(prefix).items() if symbol != "E"}
        total = sum(row.values()) / (1 - ending)
        return logs({"E": ending} | {symbol: chance / total for symbol, chance in row.items()})

    return rule


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("ending", [0.0, 0.001, 0.05, 0.3])
def test_long_runs_and_unfinished_results_equal_the_reference(ending: float, policy: str) -> None:
    for width, penalty in ((1, ("none", None)), (3, ("average", 1.0)), (5, ("gnmt", 2.0))):
        rules = [mostly_going(seed, "abc", ending) for seed in range(10)]
        limits = [1 + seed * 2 for seed in range(10)]
        results = run(Stub(rules, "abc"), limits, penalty, width=width, n_best=width, policy=policy)
        for rule, limit, result in zip(rules, limits, results, strict=True):
            assert close(result, expected(rule, "abc", limit, penalty, width, policy), 1e-10)
            if not ending:
                assert {(len(r.text.split()), r.finished) for r in result} == {(limit, False)}


@pytest.fixture(scope="module", params=[(name, seed) for name in models.MODELS for seed in range(4)])
def network(request: pytest.FixtureRequest) -> tuple[Seq2Seq, Source, list[Any]]:
    """A random model, sources of mixed lengths, and its next-token log-probabilities by teacher forcing."""
    name, seed = request.param
    model = models.seq2seq(name, seed, ending=(0.0, 1.0, 2.0)[seed % 3])
    source = random_source([4, 1, 7], vocab=8, seed=seed)
    return model, source, [remembered(model, source, row) for row in range(3)]


def remembered(model: Seq2Seq, source: Source, row: int) -> Any:
    known: dict[tuple[int, ...], list[tuple[int, float]]] = {}

    def step(prefix: tuple[int, ...]) -> list[tuple[int, float]]:
        if prefix not in known:
            known[prefix] = list(enumerate(models.next_token(model, source, row, list(prefix[1:]))))
        return known[prefix]

    return step


def test_beam_equals_the_reference_on_random_models(network: Any) -> None:
    """Wired to `step` on one side, to `forward` on the other: only rounding may differ."""
    model, source, steps = network
    limits = [5, 3, 4]
    for width, policy in ((1, "top_k"), (1, "pools"), (3, "top_k"), (3, "pools"), (4, "top_k")):
        for penalty in (("none", None), ("average", 0.7), ("average", 1.5), ("gnmt", 0.6), ("gnmt", 2.0)):
            search = searcher(penalty, width=width, n_best=width, policy=policy)
            out = decode(model, source, search, bos=BOS, eos=EOS, max_length=torch.tensor(limits))
            name, alpha = penalty
            for row, step in enumerate(steps):
                truth = reference.n_best(
                    step, BOS, EOS, width, limits[row] + 1, alpha or 0.0, policy, name, end_early=True
                )
                assert len(truth) == out.log_prob[row].isfinite().sum()
                for n, candidate in enumerate(truth):
                    assert models.generated(out, row, n) == list(candidate.prefix[1:])
                    assert out.log_prob[row, n].item() == pytest.approx(candidate.log_prob, abs=1e-9)
                    assert out.finished[row, n].item() == (candidate.prefix[-1] == EOS)


def test_log_probs_are_forced_log_probabilities(network: Any) -> None:
    model, source, _ = network
    for policy in POLICIES:
        search = searcher(("average", 1.0), width=4, n_best=4, policy=policy)
        out = decode(model, source, search, bos=BOS, eos=EOS, max_length=torch.tensor([6, 2, 4]))
        for row, n in out.log_prob.isfinite().nonzero().tolist():
            ids = models.generated(out, row, n)
            by_token = models.forced(model, source, row, ids) if ids else []
            assert out.token_log_probs[row, n, : len(ids)].tolist() == pytest.approx(by_token, abs=1e-9)
            assert out.log_prob[row, n].item() == pytest.approx(sum(by_token), abs=1e-9)


# wide beam == brute force


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_wide_beam_finds_what_brute_force_finds(policy: str, penalty: Penalty) -> None:
    for kind, symbols, limit in (("dense", "ab", 4), ("sharp", "abc", 3), ("sparse", "ab", 5)):
        rules = [drawn(seed, symbols, kind) for seed in range(12)]
        width = (len(symbols) + 1) * len(symbols) ** limit
        results = run(Stub(rules, symbols), limit, penalty, width=width, n_best=20, policy=policy)
        for rule, result in zip(rules, results, strict=True):
            truth = everything(rule, symbols, limit, penalty)[:20]
            assert close(result, truth) or (not truth and not result[0].finished)


@pytest.mark.parametrize("name", models.MODELS)
def test_a_wide_beam_finds_what_brute_force_finds_on_models(name: str) -> None:
    """UNK, EOS and two symbols without PAD and BOS: 40 outputs of at most 3 symbols."""
    model = models.seq2seq(name, 1, vocab=6)
    source = random_source([3, 5], vocab=6, seed=1)
    steps = [remembered(model, source, row) for row in range(2)]
    penalty: Penalty = ("average", 1.0)
    search = searcher(penalty, width=4 * 27, n_best=40, policy="pools")
    no_pad = [lambda log_probs, beam: log_probs.index_fill(-1, torch.tensor([0, BOS]), -math.inf)]
    out = decode(model, source, search, bos=BOS, eos=EOS, max_length=torch.tensor([3, 3]), transforms=no_pad)
    for row, step in enumerate(steps):
        rule: Rule = lambda prefix, step=step: {  # noqa: E731
            "xUyEab"[index]: value
            for index, value in step((BOS, *("xUyEab".index(symbol) for symbol in prefix)))
        }
        truth = everything(rule, "Uab", 3, penalty)
        assert len(truth) == 40
        texts = [" ".join("xUyEab"[i] for i in models.generated(out, row, n)[:-1]) for n in range(40)]
        assert texts == [result.text for result in truth]
        assert out.score[row].tolist() == pytest.approx([result.score for result in truth], abs=1e-9)


# exact early stop


def until_the_limit(live: Any, growth: Any, search: Any, step: int) -> Tensor:
    return step >= live.limit


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("policy", POLICIES)
def test_stopping_early_never_changes_a_result(
    policy: str, penalty: Penalty, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = 0
    for width, n_best in ((2, 1), (3, 3), (6, 2)):
        rules = [tree, sine_or_less, *(drawn(seed, "ab", KINDS[seed % 4]) for seed in range(14))]
        limits = [3 + n % 6 for n in range(16)]
        early, late = Stub(rules, "ab"), Stub(rules, "ab")
        options = {"width": width, "n_best": n_best, "policy": policy}
        results = run(early, limits, penalty, **options)
        with monkeypatch.context() as patch:
            patch.setattr(loop, "settled", until_the_limit)
            assert run(late, limits, penalty, **options) == results
        assert len(late.asked) == 1 + max(limits)
        saved += sum(map(len, late.asked)) - sum(map(len, early.asked))
    assert saved > 0


def sine_or_less(prefix: Prefix) -> Row:
    return {symbol: value for symbol, value in sine(prefix).items() if symbol != "c"}


def test_the_stop_is_as_early_as_the_bound_allows() -> None:
    """Ends at -1, or goes on at -2.5, for which at most 5 tokens can make up: -2.5 / 5 = -0.5 each."""
    rule: Rule = lambda prefix: {"E": -1.0, "a": -2.5} if not prefix else {"a": 0.0, "E": -9.0}  # noqa: E731
    steps = {("none", None): 1, ("average", 0.5): 1, ("average", 1.0): 5, ("gnmt", 1.0): 1, ("gnmt", 3.0): 5}
    for penalty, count in steps.items():
        stub = Stub([rule], "a")
        [[best]] = run(stub, 4, penalty, width=2, policy="pools")
        assert best.text == ""
        assert len(stub.asked) == count


def test_the_stop_needs_no_more_than_a_tie() -> None:
    """What goes on could at best draw level, and the earlier result wins a tie."""
    rule: Rule = lambda prefix: {"E": -1.0, "a": -1.0}  # noqa: E731
    stub = Stub([rule], "a")
    assert run(stub, 9, width=2) == [[Found("", -1.0, -1.0, True)]]
    assert len(stub.asked) == 1


def test_the_stop_waits_for_the_nth_result() -> None:
    rule: Rule = lambda prefix: {"E": -1.0, "a": -2.5} if not prefix else {"E": -0.1, "a": -3.0}  # noqa: E731
    for n_best, steps in ((1, 1), (2, 2), (3, 3)):
        stub = Stub([rule], "a")
        [found] = run(stub, 9, width=3, n_best=n_best, policy="pools")
        assert len(found) == n_best
        assert len(stub.asked) == steps


# batches


@pytest.mark.parametrize("penalty", [("none", None), ("average", 1.0), ("gnmt", 2.0)])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("width", [1, 3])
def test_neighbours_change_nothing(width: int, policy: str, penalty: Penalty) -> None:
    """Alone, together and in any order; sentences leave at all times, many or few at once."""
    rules = [drawn(seed, "ab", KINDS[seed % 4]) for seed in range(30)] + [patient(n) for n in range(10)]
    limits = [1 + n % 9 for n in range(40)]
    options = {"width": width, "n_best": width, "policy": policy}
    single = [
        run(Stub([rule], "ab"), limit, penalty, **options)[0]
        for rule, limit in zip(rules, limits, strict=True)
    ]
    for seed, size in ((1, 40), (2, 40), (3, 17), (4, 2)):
        rows = random.Random(seed).sample(range(40), size)
        together = run(Stub([rules[n] for n in rows], "ab"), [limits[n] for n in rows], penalty, **options)
        assert together == [single[n] for n in rows]


def test_neighbours_change_nothing_on_models(network: Any) -> None:
    model, source, _ = network
    limits = torch.tensor([6, 2, 4])
    for width in (1, 4):
        search = searcher(("average", 1.0), width=width, n_best=width)
        together = decode(model, source, search, bos=BOS, eos=EOS, max_length=limits)
        for row in range(3):
            single = decode(
                model, alone(source, row), search, bos=BOS, eos=EOS, max_length=limits[row : row + 1]
            )
            assert torch.equal(together.length[row], single.length[0])
            assert torch.equal(together.finished[row], single.finished[0])
            for n in range(width):
                assert models.generated(together, row, n) == models.generated(single, 0, n)
            for leaf in ("log_prob", "score"):
                torch.testing.assert_close(
                    getattr(together, leaf)[row], getattr(single, leaf)[0], rtol=0, atol=1e-9
                )


def test_finished_sentences_leave_the_batch() -> None:
    rules = [patient(1 + 3 * n) for n in range(8)]
    for width in (1, 3):
        stub = Stub(rules, "ab")
        run(stub, 30, width=width)
        sentences = [len({sentence for sentence, _ in asked}) for asked in stub.asked]
        assert sentences[0] == 8
        assert sentences == sorted(sentences, reverse=True)
        assert sentences[-1] == 1


class Wild(Stub):
    """Gives nonsense for its first sentence once that has two tokens."""

    wild = 0.0

    def _row(self, sentence: int, prefix: Prefix) -> list[float]:
        if sentence == 0 and len(prefix) >= 2:
            return [self.wild] * len(self.symbols)
        return super()._row(sentence, prefix)


@pytest.mark.parametrize("wild", [0.0, -0.5, math.nan])
@pytest.mark.parametrize("width", [1, 3])
def test_a_sentence_that_is_done_is_closed(width: int, wild: float) -> None:
    """One of twelve that lingers beside others: whatever its rows give now, it changes nothing."""
    stub = Wild([patient(1), *[patient(8)] * 11], "ab")
    stub.wild = wild
    results = run(stub, 9, ("average", 1.0), width=width)
    assert [s for asked in stub.asked for s, prefix in asked if s == 0 and len(prefix) >= 2]  # it lingered
    assert results == run(Stub(stub.rules, "ab"), 9, ("average", 1.0), width=width)


# what a decode costs


@pytest.mark.parametrize("width", [1, 2, 5])
def test_no_step_is_made_after_all_are_done(width: int) -> None:
    for steps, limit in (([0], 9), ([3], 9), ([3, 1, 7], 9), ([5, 5], 5), ([9, 4], 4)):
        stub = Stub([patient(n) for n in steps], "ab")
        run(stub, limit, width=width)
        assert len(stub.asked) == 1 + min(max(steps), limit)


def test_a_beam_is_never_wider_than_the_choices() -> None:
    stub = Stub([drawn(1, "ab")], "ab")
    run(stub, 6, width=9, n_best=9)
    assert [len(asked) for asked in stub.asked[:4]] == [1, 4, 9, 9]  # 4 symbols, then 16 continuations


class Reads(TorchDispatchMode):
    """Counts what makes the host wait for a device."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        waits = {"_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal", "unique", "item"}
        by_mask = name in ("index", "index_put", "index_put_") and any(
            index is not None and index.dtype == torch.bool for index in args[1]
        )
        self.count += by_mask or name in waits
        return func(*args, **(kwargs or {}))


class Watched:
    """A model that notes how many reads had been made before each of its steps, and after."""

    def __init__(self, model: Any, reads: Reads) -> None:
        self.model, self.reads, self.before, self.after = model, reads, [], []

    def start(self, source: Source) -> tuple[Any, Any]:
        return self.model.start(source)

    def step(self, memory: Any, state: Any, token: Tensor, *, weights: bool = False) -> tuple[Any, Any]:
        self.before.append(self.reads.count)
        result = self.model.step(memory, state, token, weights=weights)
        self.after.append(self.reads.count)
        return result


def counted(reads: Reads, plain: Any) -> Any:
    def count(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
        reads.count += 1
        return plain(tensor, *args, **kwargs)

    return count


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reads]:
    counter = Reads()
    for name in ("tolist", "numpy", "cpu"):  # these do not pass through the dispatcher, or not as a read
        monkeypatch.setattr(Tensor, name, counted(counter, getattr(Tensor, name)))
    with counter:
        yield counter


def test_the_counter_of_reads_counts(reads: Reads) -> None:
    x = torch.arange(4)
    for read in (
        lambda: x.tolist(),
        lambda: x[0].item(),
        lambda: bool(x.any()),
        lambda: int(x.sum()),
        lambda: x[x > 1],
        lambda: x.nonzero(),
        lambda: torch.equal(x, x),
        lambda: range(9)[x[1]],
    ):
        before = reads.count
        read()
        assert reads.count > before
    before = reads.count
    x.add(1).sort()[0].where(x > 2, 0).gather(0, x).index_select(0, x)
    assert reads.count == before


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.parametrize("name", models.MODELS)
def test_at_most_one_host_read_a_step(name: str, width: int, policy: str, reads: Reads) -> None:
    model = Watched(models.seq2seq(name, 2, ending=1.0), reads)
    source = random_source([1 + n % 9 for n in range(20)], vocab=8, seed=2)
    limits = torch.tensor([1 + n % 9 for n in range(20)])
    search = searcher(("average", 1.0), width=width, n_best=width, policy=policy)
    decode(model, source, search, bos=BOS, eos=EOS, max_length=limits)
    assert len(model.before) > 5
    assert model.before == model.after  # the model's own steps read nothing
    between = [after - before for before, after in zip(model.after, model.before[1:], strict=False)]
    assert max(between) == 1
    assert reads.count - model.after[-1] <= 3  # the last step's, and the results


@pytest.mark.parametrize(
    "options",
    [
        {"coverage_penalty": 0.2, "min_length": MinLength(plus=2), "no_repeat_ngram": 2},
        {"repetition_penalty": 1.2, "groups": 2, "diversity": 0.5},
        {"name": "sampling", "top_p": 0.9},
        {"phrases": True},
    ],
    ids=lambda options: next(iter(options.values())),
)
def test_controls_read_nothing_more(options: dict[str, Any], reads: Reads) -> None:
    given = {"name": "beam", "width": 4} | options
    phrases = given.pop("phrases", False)
    if given["name"] == "sampling":
        given |= {"n_best": given.pop("width")}
    search = Spec(Search, given.pop("name"), given).build()
    model = Watched(models.seq2seq("gru+additive", 2, ending=0.0), reads)
    source = random_source([1 + n % 9 for n in range(20)], vocab=8, seed=2)
    asked = Asked.nothing(source.mask.sum(dim=1))
    wishes = torch.tensor([[[4, 5], [6, -1]]]).expand(20, -1, -1)
    asked = asked._replace(prefix=torch.full((20, 1), 5), banned=torch.tensor([[[-1, 7]]]).expand(20, -1, -1))
    asked = asked._replace(phrases=wishes) if phrases else asked
    limits = torch.tensor([6 + n % 9 for n in range(20)])
    decode(model, source, search, bos=BOS, eos=EOS, max_length=limits, asked=asked)
    between = [after - before for before, after in zip(model.after, model.before[1:], strict=False)]
    assert len(between) > 4
    assert max(between) == 1


def test_state_is_moved_only_with_its_hypotheses() -> None:
    """With a beam of one, and with parents in place, the very same state goes round."""

    class Still:
        def __init__(self) -> None:
            self.given: list[bool] = []

        def start(self, source: Source) -> tuple[Any, Any]:
            self.last = (torch.zeros(2, 1),)
            return (), self.last

        def step(self, memory: Any, state: Any, token: Tensor, *, weights: bool = False) -> tuple[Any, Any]:
            self.given.append(state is self.last)
            self.last = state
            row = torch.tensor([-math.inf, -9.0, -0.5, -1.0], dtype=torch.float64)
            return state, Output(row.expand(len(token), 4), None)

    greedy = Still()
    drive(greedy, searcher(width=1))
    assert len(greedy.given) == 6
    assert all(greedy.given)
    wide = Still()
    drive(wide, searcher(width=2))
    assert wide.given[0]
    assert not all(wide.given)


def drive(model: Any, search: Any) -> Decoded:
    source = Source(torch.zeros(2, 1).long(), torch.ones(2, 1).bool())
    return decode(model, source, search, bos=stubs.BOS, eos=stubs.EOS, max_length=torch.tensor([5, 5]))


def test_decoding_makes_no_graph() -> None:
    model = models.seq2seq("gru+additive", 1)
    source = random_source([3], vocab=8)
    out = decode(model, source, searcher(width=2), bos=BOS, eos=EOS, max_length=torch.tensor([3]))
    assert not any(leaf.requires_grad for leaf in out)
    assert not any(leaf.is_inference() for leaf in out)


def test_the_same_call_gives_the_same_result(network: Any) -> None:
    model, source, _ = network
    search = searcher(("average", 0.7), width=4, n_best=4)
    limits = torch.tensor([6, 2, 4])
    first, again = (decode(model, source, search, bos=BOS, eos=EOS, max_length=limits) for _ in range(2))
    assert all(map(torch.equal, first, again))
    assert limits.tolist() == [6, 2, 4]


# transforms


def test_transforms_see_the_beam_and_decide_what_may_follow() -> None:
    shapes = []

    def no_b(log_probs: Tensor, beam: Beam) -> Tensor:
        shapes.append((log_probs.shape[:2], beam.score.shape, beam.token.shape))
        return log_probs.index_fill(-1, torch.tensor([3]), -math.inf)

    def never_twice(log_probs: Tensor, beam: Beam) -> Tensor:
        return log_probs.scatter(-1, beam.token.unsqueeze(-1), -math.inf)

    rules = [mostly_going(seed, "abc", 0.2) for seed in range(6)]
    source = Source(torch.zeros(6, 1).long(), torch.ones(6, 1).bool())
    search = searcher(width=3, n_best=3)
    for transforms in ([no_b], [no_b, never_twice]):
        stub = Stub(rules, "abc")
        out = decode(
            stub, source, search, bos=0, eos=1, max_length=torch.full((6,), 5), transforms=transforms
        )
        for sentence, rule in enumerate(rules):
            for result in stubs.read(stub, out, sentence):
                symbols = result.text.split()
                assert "b" not in symbols
                if len(transforms) == 2:
                    assert all(one != two for one, two in itertools.pairwise(symbols))
                ends = ("E",) * result.finished  # not renormalised: log_prob stays the model's own
                assert result.log_prob == pytest.approx(stubs.forced(rule, (*symbols, *ends)))
    assert all(len({*three}) == 1 for three in shapes)


# what is refused


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("symbol", ["E", "a", "b"])
@pytest.mark.parametrize("when", [0, 2])
def test_a_model_that_gives_nan_is_refused(when: int, symbol: str, width: int, policy: str) -> None:
    def rule(prefix: Prefix) -> Row:
        row = logs({"a": 0.5, "b": 0.3, "E": 0.2})
        return {**row, symbol: math.nan} if len(prefix) == when else row

    for rules in ([rule], [tree, rule, sine_or_less], [rule] * 3, [*[patient(6)] * 8, rule]):
        with pytest.raises(ValueError, match="does the model give NaN"):
            run(Stub(rules, "ab"), 6, width=width, n_best=width, policy=policy)


class Turning:
    """Ends are last of six ids, and likely; at the second step one token of one hypothesis is NaN."""

    def start(self, source: Source) -> tuple[Any, Any]:
        return (), (torch.zeros(2, 1),)

    def step(self, memory: Any, state: Any, token: Tensor, *, weights: bool = False) -> tuple[Any, Any]:
        log_probs = torch.tensor([-4.0, -4.0, -3.0, -1.5, -1.6, -1.0]).repeat(len(token), 1)
        if state[0].max() == 1:
            log_probs[-1, 2] = math.nan
        return (state[0] + 1,), Output(log_probs, None)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("n_best", [1, 2])
def test_nan_is_refused_although_there_are_results(n_best: int, width: int, policy: str) -> None:
    search = searcher(("average", 1.0), width=width, n_best=n_best, policy=policy)
    source = Source(torch.zeros(2, 1).long(), torch.ones(2, 1).bool())
    with pytest.raises(ValueError, match="does the model give NaN"):
        decode(Turning(), source, search, bos=0, eos=5, max_length=torch.tensor([4, 4]))


@pytest.mark.parametrize("name", models.MODELS)
def test_a_network_that_gives_nan_is_refused(name: str) -> None:
    model = models.seq2seq(name, 1)
    bias: Any = model.decoder.get_submodule("output").get_parameter("bias")
    bias.data[5] = math.nan
    with pytest.raises(ValueError, match="does the model give NaN"):
        decode(
            model,
            random_source([3, 2], vocab=8),
            searcher(),
            bos=BOS,
            eos=EOS,
            max_length=torch.tensor([4, 4]),
        )


@pytest.mark.parametrize("policy", POLICIES)
def test_no_hypothesis_at_all_is_refused(policy: str) -> None:
    dead_end: Rule = lambda prefix: {"a": 0.0} if not prefix else {}  # noqa: E731
    for rules in ([dead_end], [tree, dead_end]):
        for width in (1, 3):
            with pytest.raises(ValueError, match="no hypothesis"):
                run(Stub(rules, "ab"), 4, width=width, policy=policy)
    # at the very limit nothing need follow: what there is counts as unfinished
    assert run(Stub([dead_end], "ab"), 1, policy=policy) == [[Found("a", 0.0, 0.0, False)]]


def test_empty_places_are_never_returned() -> None:
    """Places that hold no hypothesis are given 0.0 for every token by the stub, more than any real one."""
    rules = [drawn(seed, "ab", "sparse") for seed in range(40)]
    out = raw(Stub(rules, "ab"), 5, width=6, n_best=6)
    for sentence, rule in enumerate(rules):
        for result in stubs.read(Stub(rules, "ab"), out, sentence):
            generated = (*result.text.split(), *("E",) * result.finished)
            assert result.log_prob == pytest.approx(stubs.forced(rule, generated))
            assert close([result], [found(generated, result.log_prob, ("none", None))])


def test_select_moves_sentences_and_hypotheses_apart() -> None:
    """A stub's memory has a row a sentence and its state a row a hypothesis: `Stub.step` compares them."""
    stub = Stub([drawn(seed, "abc") for seed in range(9)], "abc")
    run(stub, [1 + n for n in range(9)], width=4)
    sizes = {(len({s for s, _ in asked}), len(asked)) for asked in stub.asked}
    assert all(rows in (sentences, 4 * sentences) for sentences, rows in sizes)
    assert len(sizes) > 3
    memory: Any = select((torch.arange(3), (torch.arange(3),)), torch.tensor([2, 0]))
    assert memory[1][0].tolist() == [2, 0]
