"""The coverage penalty: its figures, and the beam that carries what has been looked at."""

import math
import random

import pytest
import torch

from tests.helpers import source as random_source
from tests.search import models
from tests.search.stubs import (
    PENALTIES,
    POLICIES,
    Penalty,
    Stub,
    attention,
    close,
    drawn,
    expected,
    run,
    searcher,
)
from transduce.errors import ConfigError
from transduce.search import decode, loop, reference
from transduce.search.beam import BeamSearch
from transduce.search.penalties import coverage_term
from transduce.types import BOS, EOS

KINDS = ("dense", "sharp", "sparse", "tied")


@pytest.mark.parametrize(
    ("rows", "value"),
    [
        ([[1.0, 0.0], [1.0, 0.0]], math.log(1e-10)),  # the second word was never looked at
        ([[1.0, 0.0], [0.0, 1.0]], 0.0),
        ([[0.5, 0.5], [0.25, 0.75]], math.log(0.75)),
        ([[0.2, 0.8]], math.log(0.2) + math.log(0.8)),
    ],
)
def test_DEC_19_coverage_is_summed_over_steps(rows: list[list[float]], value: float) -> None:
    assert coverage_term(torch.tensor(rows).sum(dim=0)).item() == pytest.approx(value, abs=1e-5)
    given = reference.Coverage(1.0, lambda prefix: rows[len(prefix) - 1])
    assert given.penalty(("S", *"ab"[: len(rows)])) == pytest.approx(value, abs=1e-9)


def test_DEC_19_the_option_changes_the_winner() -> None:
    """ "a" looks at one word and "b" at both: likelier is not better once coverage counts."""

    class Two(Stub):
        def seen(self, sentence: int, prefix: tuple[str, ...]) -> list[float]:
            return [0.5, 0.5] if prefix[:1] == ("b",) else [1.0, 0.0]

    rule = {(): {"a": math.log(0.6), "b": math.log(0.4)}}
    stub = Two([lambda prefix: rule.get(prefix, {"E": 0.0})], "ab", [2])
    [[plain]] = run(stub, 3, width=2)
    assert plain.text == "a"
    [found] = run(stub, 3, width=2, n_best=2, coverage_penalty=0.1)
    # "a": steps [1 0] [1 0]; "b": [1 0] [.5 .5]
    assert [result.text for result in found] == ["b", "a"]
    assert found[0].score == pytest.approx(math.log(0.4) + 0.1 * math.log(0.5))
    assert found[1].score == pytest.approx(math.log(0.6) + 0.1 * math.log(1e-10))
    assert found[1].log_prob == pytest.approx(math.log(0.6))


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("policy", POLICIES)
def test_beam_equals_the_reference(policy: str, penalty: Penalty) -> None:
    """Sources of mixed lengths in one batch: padding must count as covered."""
    rng = random.Random(f"{policy} {penalty}")
    for kind in KINDS:
        width, beta = rng.choice([1, 2, 4]), rng.choice([0.05, 0.2, 1.0])
        rules, limits = [drawn(rng.randrange(10**6), "ab", kind) for _ in range(7)], [1, 2, 3, 4, 5, 3, 4]
        lengths = [rng.randint(1, 4) for _ in rules]
        options = {"width": width, "n_best": width, "policy": policy, "coverage_penalty": beta}
        results = run(Stub(rules, "ab", lengths), limits, penalty, **options)
        for rule, limit, length, result in zip(rules, limits, lengths, results, strict=True):
            looked = reference.Coverage(beta, lambda prefix, n=length: attention(n, tuple(prefix[1:])))
            truth = expected(rule, "ab", limit, penalty, width, policy, looked)
            assert close(result, truth, 1e-9)


@pytest.mark.parametrize("policy", POLICIES)
def test_stopping_early_never_changes_a_result(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = 0
    for width, n_best in ((2, 1), (4, 3)):
        rules, lengths = [drawn(seed, "ab", KINDS[seed % 4]) for seed in range(12)], [1, 2, 3] * 4
        options = {"width": width, "n_best": n_best, "policy": policy, "coverage_penalty": 0.05}
        early, late = Stub(rules, "ab", lengths), Stub(rules, "ab", lengths)
        results = run(early, 7, ("average", 1.0), **options)
        with monkeypatch.context() as patch:
            patch.setattr(loop, "settled", lambda live, growth, search, step: step >= live.limit)
            assert run(late, 7, ("average", 1.0), **options) == results
        saved += sum(map(len, late.asked)) - sum(map(len, early.asked))
    assert saved > 0


@pytest.mark.parametrize("name", models.MODELS)
def test_the_score_of_a_network_is_that_of_forced_attention(name: str) -> None:
    """Heads averaged, the last layer; rows of all tokens, the end's in."""
    model = models.seq2seq(name, 3, ending=1.0)
    source = random_source([4, 1, 6], vocab=8, seed=3)
    search = searcher(("average", 0.7), width=4, n_best=4, coverage_penalty=0.3)
    out = decode(model, source, search, bos=BOS, eos=EOS, max_length=torch.tensor([6, 2, 5]))
    for row, n in out.log_prob.isfinite().nonzero().tolist():
        ids = models.generated(out, row, n)
        length = int(source.mask[row].sum())
        alone = source._replace(tokens=source.tokens[row : row + 1], mask=source.mask[row : row + 1])
        inputs = torch.tensor([[BOS, *ids[:-1]]])
        with torch.no_grad():
            seen = model(alone, inputs, weights=True).weights[0, : len(ids), -1].mean(dim=1)[:, :length]
        covered = sum(math.log(min(max(total, 1e-10), 1)) for total in seen.sum(dim=0).tolist())
        mean = out.log_prob[row, n].item() / len(ids) ** 0.7
        assert out.score[row, n].item() == pytest.approx(mean + 0.3 * covered, abs=1e-9)


@pytest.mark.parametrize("beta", [-0.1, math.nan, math.inf])
def test_a_weight_that_cannot_work_is_refused(beta: float) -> None:
    with pytest.raises(ConfigError, match=f"coverage_penalty: expected 0 .*; got {beta}"):
        BeamSearch(coverage_penalty=beta)


def test_without_it_no_attention_is_asked_for() -> None:
    class Watching(Stub):
        asked_for: list[bool]

        def step(self, memory, state, token, *, weights=False):
            self.asked_for.append(weights)
            return super().step(memory, state, token, weights=weights)

    for beta in (0.0, 0.2):
        stub = Watching([drawn(1, "ab")], "ab")
        stub.asked_for = []
        run(stub, 3, width=2, coverage_penalty=beta)
        assert set(stub.asked_for) == {beta > 0}
