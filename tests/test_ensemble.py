"""Several models as one."""

import math
import re
from typing import Any

import pytest
import torch

from tests.helpers import EXACT, alone, build, padded, same, source
from tests.search.models import MODELS, generated, seq2seq
from transduce.ensemble import MEANS, Ensemble
from transduce.errors import ConfigError
from transduce.model import Seq2Seq
from transduce.search import Decoded, decode, reference
from transduce.search.beam import BeamSearch
from transduce.types import BOS, EOS, Source, select

VOCAB = 8
NAMES = list(MODELS)
LENGTHS = [4, 2, 5]
HALVES = [0.7, 0.3]


def several(*seeds: int) -> list[Seq2Seq]:
    """Random models of different architectures with one target vocabulary."""
    return [seq2seq(NAMES[place % len(NAMES)], seed, VOCAB) for place, seed in enumerate(seeds)]


def beside(first: Source, seed: int) -> Source:
    """A source, and the same sentences in other ids and other lengths."""
    other = source([length + 1 + row for row, length in enumerate(LENGTHS)], vocab=6, seed=seed)
    return first._replace(others=(other,))


def found(model: Any, given: Source, *, width: int = 3, limit: int = 5, **options: Any) -> Decoded:
    limits = torch.full((len(given.mask),), limit)
    search = BeamSearch(width=width, n_best=width, **options)
    return decode(model, given, search, bos=BOS, eos=EOS, max_length=limits)


def forced(members: list[Seq2Seq], given: Source, row: int, ids: list[int], mean: str) -> float:
    """log P of these ids, by the definition of the mean, from each member's own distributions."""
    sentence: Any = select(given, torch.tensor([row]))
    with torch.no_grad():
        every = [m(sentence, torch.tensor([[BOS, *ids[:-1]]])).log_probs[0].exp().tolist() for m in members]
    total = 0.0
    for step, token in enumerate(ids):
        rows = [one[step] for one in every]
        mixed = [
            sum(w * row[v] for w, row in zip(HALVES, rows, strict=True))
            if mean == "probabilities"
            else math.prod(row[v] ** w for w, row in zip(HALVES, rows, strict=True))
            for v in range(VOCAB)
        ]
        total += math.log(mixed[token] / sum(mixed))
    return total


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("name", NAMES)
def test_a_model_with_itself_is_the_model(name, mean):
    model, given = seq2seq(name, 5, VOCAB), source(LENGTHS, vocab=VOCAB)
    twice = Ensemble([model, model, model], mean=mean, weights=[1.0, 2.0, 5.0])
    one, other = found(model, given), found(twice, given)
    assert torch.equal(one.tokens, other.tokens)
    same(one.score, other.score)
    same(one.token_log_probs, other.token_log_probs)
    tokens = torch.randint(4, VOCAB, (3, 4), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        mine, its = model(given, tokens, weights=True), twice(given, tokens, weights=True)
    same(mine.log_probs, its.log_probs)
    same(mine.weights[:, :, -1:].mean(dim=3, keepdim=True), its.weights)
    assert twice.attends


@pytest.mark.parametrize("mean", MEANS)
def test_a_weight_of_nothing_leaves_a_member_out(mean):
    members, given = several(3, 4), source(LENGTHS, vocab=VOCAB)
    with torch.no_grad():
        getattr(members[1].decoder, "output").bias[5] = -math.inf  # noqa: B009 (not in the contract)
    one, other = found(members[0], given), found(Ensemble(members, mean=mean, weights=[1.0, 0.0]), given)
    assert torch.equal(one.tokens, other.tokens)
    same(one.score, other.score)
    with torch.no_grad():
        seen = Ensemble(members, mean=mean, weights=[1.0, 0.0])(given, one.tokens[:, 0], weights=True).weights
        same(members[0](given, one.tokens[:, 0], weights=True).weights.mean(dim=3, keepdim=True), seen)


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("policy", ["top_k", "pools"])
def test_log_probs_are_the_mean_by_its_definition(mean, policy):
    members, given = several(1, 2), source(LENGTHS, vocab=VOCAB)
    out = found(Ensemble(members, mean=mean, weights=[7.0, 3.0]), given, policy=policy)
    for row in range(3):
        for n in range(3):
            expected = forced(members, given, row, generated(out, row, n), mean)
            assert out.log_prob[row, n].item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("mean", MEANS)
def test_steps_are_distributions_equal_to_forcing_and_their_own_to_write_to(mean):
    members, given = several(6, 7, 8), source(LENGTHS, vocab=VOCAB)
    ensemble, tokens = Ensemble(members, mean=mean), torch.randint(4, VOCAB, (3, 5))
    with torch.no_grad():
        whole = ensemble(given, tokens, weights=True)
        same(whole.log_probs.exp().sum(dim=-1), torch.ones(3, 5, dtype=torch.float64))
        memory, state = ensemble.start(given)
        for step, token in enumerate(tokens.unbind(dim=1)):
            state, output = ensemble.step(memory, state, token, weights=True)
            same(output.log_probs, whole.log_probs[:, step])
            same(output.weights, whole.weights[:, step])
            output.log_probs.fill_(0.0)
        assert ensemble.step(memory, state, token)[1].weights is None


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("policy", ["top_k", "pools"])
def test_a_beam_over_an_ensemble_is_the_reference(mean, policy):
    members, given = several(11, 12), source(LENGTHS, vocab=VOCAB)
    ensemble = Ensemble(members, mean=mean, weights=HALVES)
    out = found(ensemble, given, policy=policy, limit=4)
    for row in range(3):
        sentence = alone(given, row)

        def step(prefix: Any, sentence: Source = sentence) -> list[tuple[int, float]]:
            with torch.no_grad():
                return list(enumerate(ensemble(sentence, torch.tensor([prefix])).log_probs[0, -1].tolist()))

        results = reference.n_best(step, BOS, EOS, 3, 5, 0.7, policy, "average", True)
        assert [generated(out, row, n) for n in range(len(results))] == [list(r.prefix[1:]) for r in results]
        assert out.log_prob[row, : len(results)].tolist() == pytest.approx(
            [r.log_prob for r in results], abs=1e-9
        )


def test_members_read_sources_of_their_own():
    """The second reads other ids, and attention is the first's, whose source is shown."""
    first, second = several(1, 2)
    given = beside(source(LENGTHS, vocab=VOCAB), 3)
    ensemble = Ensemble([first, second], mean="log_probabilities", weights=[1.0, 1.0], reads=[0, 1])
    tokens = torch.randint(4, VOCAB, (3, 4))
    with torch.no_grad():
        output = ensemble(given, tokens, weights=True)
        own = [first(given, tokens, weights=True), second(given.others[0], tokens)]
    same(output.log_probs, (own[0].log_probs + own[1].log_probs).div(2).log_softmax(dim=-1))
    same(output.weights, own[0].weights.mean(dim=3, keepdim=True))
    together = found(ensemble, given)
    for row in range(3):
        lone = alone(given, row)._replace(others=(alone(given.others[0], row),))
        apart = found(ensemble, lone)
        length = int(apart.length.max())
        assert torch.equal(together.tokens[row, :, :length], apart.tokens[0])
        torch.testing.assert_close(together.log_prob[row], apart.log_prob[0], **EXACT)


def test_the_batch_changes_nothing():
    ensemble, given = Ensemble(several(4, 5, 6)), source(LENGTHS, vocab=VOCAB)
    whole = found(ensemble, padded(given, 3), coverage_penalty=0.3)
    for row in range(3):
        apart = found(ensemble, alone(given, row), coverage_penalty=0.3)
        length = int(apart.length.max())
        assert torch.equal(whole.tokens[row, :, :length], apart.tokens[0])
        same(whole.score[row], apart.score[0])


def test_attention_is_of_those_that_have_any():
    attending = build({"width": 5}, {"width": 6, "dropout": 0.0})
    blind = build({"width": 5}, {"width": 6, "dropout": 0.0, "attention": "none"})
    given, tokens = source(LENGTHS), torch.randint(4, 9, (3, 4))
    for members, weights in (([blind, attending], [3.0, 1.0]), ([attending, blind], [1.0, 3.0])):
        ensemble = Ensemble(members, weights=weights)
        assert ensemble.attends
        with torch.no_grad():
            expected = attending(given, tokens, weights=True).weights
            same(ensemble(given, tokens, weights=True).weights, expected.mean(dim=3, keepdim=True))
    for ensemble in (Ensemble([blind, blind]), Ensemble([blind, attending], reads=[0, 1])):
        assert not ensemble.attends
    assert not Ensemble([blind, attending], weights=[1.0, 0.0]).attends


def test_weights_and_means_that_cannot_be_are_refused():
    members = several(1, 2)
    for weights in ([1.0], [1.0] * 3, [0.0, 0.0], [2.0, -1.0], [math.nan, 1.0], [math.inf, 1.0]):
        message = f"a weight of 0 or more for each of the 2 models, not all 0; got {weights}"
        with pytest.raises(ConfigError, match=re.escape(message)):
            Ensemble(members, weights=weights)
    with pytest.raises(ConfigError, match="unknown mean 'probability'; did you mean 'probabilities'"):
        Ensemble(members, mean="probability")
