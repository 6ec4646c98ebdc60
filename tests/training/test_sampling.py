"""Scheduled sampling: the probabilities of the paper, a coin a token, and no gradient through the choice."""

import itertools
import math

import pytest
import torch

from tests.helpers import build, same, source
from transduce.config import Spec, validate
from transduce.data.batch import Batch
from transduce.errors import ConfigError
from transduce.training.learner import Learner
from transduce.training.sampling import TruthSchedule, choose, forward_sampled
from transduce.training.settings import LoopSettings
from transduce.training.state import TrainState
from transduce.types import BOS, PAD

LENGTHS = (4, 2, 3)
TOKENS = torch.tensor([[BOS, 5, 4, 7], [BOS, 6, 8, 8], [BOS, 4, 4, 5]])


def truth(name: str, update: int, **options: float) -> float:
    return Spec(TruthSchedule, name, options).build().truth(update)


def test_the_probabilities_are_the_papers() -> None:
    assert truth("linear", 300, start=0.9, slope=1e-3) == pytest.approx(0.6)
    assert truth("linear", 800, start=0.9, slope=1e-3, floor=0.25) == 0.25
    assert truth("exponential", 10, k=0.9) == pytest.approx(0.9**10)
    for update in (1, 50, 400, 5000):
        k = 100.0
        assert truth("inverse_sigmoid", update, k=k) == pytest.approx(k / (k + math.exp(update / k)))


@pytest.mark.parametrize("name", list(TruthSchedule.family))
def test_truth_is_a_probability_that_never_grows_and_never_overflows(name: str) -> None:
    values = [truth(name, update) for update in (1, 2, 10, 1000, 10**5, 10**7, 10**9)]
    assert all(0 <= low <= high <= 1 for high, low in itertools.pairwise(values))
    assert values[0] > 0.99
    assert values[-1] < 1e-6


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("linear", {"start": 1.1}),
        ("linear", {"floor": 0.9, "start": 0.5}),
        ("linear", {"slope": -1.0}),
        ("exponential", {"k": 1.0}),
        ("inverse_sigmoid", {"k": 0.5}),
        ("inverse_sigmoid", {"k": math.inf}),
    ],
)
def test_what_is_no_schedule_is_refused(name: str, options: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=r"train\.scheduled_sampling"):
        truth(name, 1, **options)


@pytest.mark.parametrize("take", ["draw", "best"])
def test_with_the_truth_alone_it_is_teacher_forcing(take: str) -> None:
    model = build({"width": 5}, {"width": 5})
    sampled = forward_sampled(model, source(LENGTHS), TOKENS, 1.0, take)
    same(sampled.log_probs, model(source(LENGTHS), TOKENS).log_probs)


def test_without_any_truth_the_best_symbols_are_greedy_searchs() -> None:
    model = build({"width": 5}, {"width": 5})
    found = forward_sampled(model, source(LENGTHS), TOKENS, 0.0, "best").log_probs
    read = torch.cat([TOKENS[:, :1], found.argmax(dim=-1)[:, :-1]], dim=1)
    same(found, model(source(LENGTHS), read).log_probs)
    assert not read.equal(TOKENS)


def test_a_coin_is_thrown_for_each_token() -> None:
    torch.manual_seed(0)
    model, rows = build({"width": 5}, {"width": 5}), 40
    given, tokens = source((2,) * rows), torch.full((rows, 6), 5)
    tokens[:, 0] = BOS
    seen = []
    model.decoder.embedding.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0]))
    forward_sampled(model, given, tokens, 0.75, "best")
    read = torch.stack(seen, dim=1)
    assert read[:, 0].eq(BOS).all()
    true = read[:, 1:].eq(5)
    assert true.float().mean().item() == pytest.approx(0.75, abs=0.08)
    assert len({tuple(row) for row in true.tolist()}) > 10  # neither a coin a sentence nor one a position


def test_symbols_are_drawn_from_the_models_distribution() -> None:
    torch.manual_seed(0)
    log_probs = torch.tensor([0.1, 0.2, 0.7]).log().expand(20000, 3)
    shares = choose(log_probs, "draw").bincount(minlength=3) / 20000
    torch.testing.assert_close(shares, torch.tensor([0.1, 0.2, 0.7]), atol=0.015, rtol=0)
    assert choose(log_probs, "best").eq(2).all()


def test_no_gradient_flows_through_the_choice() -> None:
    """The gradient is that of reading the chosen symbols as if they had been given."""
    model = build({"width": 5}, {"width": 5})
    output = forward_sampled(model, source(LENGTHS), TOKENS, 0.0, "best").log_probs
    output[..., 4].sum().backward()
    found = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    read = torch.cat([TOKENS[:, :1], output.detach().argmax(dim=-1)[:, :-1]], dim=1)
    model(source(LENGTHS), read).log_probs[..., 4].sum().backward()
    for name, parameter in model.named_parameters():
        same(found[name], parameter.grad)


def test_training_samples_by_its_settings() -> None:
    model, given = build({"width": 5}, {"width": 5}), source(LENGTHS)
    batch, optimizer = (
        Batch(given, TOKENS, TOKENS, TOKENS.ne(PAD)),
        torch.optim.SGD(model.parameters(), lr=0.0),
    )
    sampling = {"schedule": {"name": "linear", "slope": 0.5}, "take": "best"}
    losses = []
    for tree in ({}, {"scheduled_sampling": sampling}):
        learner = Learner(model, optimizer, validate(LoopSettings, tree, "test"), TrainState())
        losses.append(learner.update([batch], TrainState(update=1)).loss)
    forced, sampled = model(given, TOKENS), forward_sampled(model, given, TOKENS, 0.0, "best")
    for loss, output in zip(losses, (forced, sampled), strict=True):
        expected = -output.log_probs.gather(2, TOKENS.unsqueeze(2)).sum().item()
        assert loss == pytest.approx(expected, rel=1e-9)
    assert losses[0] != losses[1]
