"""Guided attention: its loss by hand, and that it is learnt."""

import math

import pytest
import torch

from tests.helpers import build
from transduce.config import validate
from transduce.data.alignments import alignment_matrix
from transduce.data.batch import Batch, pair_batch
from transduce.data.index import Index, Ragged
from transduce.errors import ConfigError
from transduce.model import ModelSettings
from transduce.training.guidance import LEAST, check_guidance, misalignment
from transduce.training.learner import Learner, halves
from transduce.training.sampling import forward_sampled
from transduce.training.settings import LoopSettings
from transduce.training.state import TrainState

SMALL = {"width": 16, "dropout": 0.0}
ATTENTION = {"name": "multihead", "heads": 2}


def test_the_loss_by_hand():
    """Two layers, of which the last counts, and two heads, whose mean counts; three target tokens."""
    weights = torch.full((1, 3, 2, 2, 3), 1 / 3)
    weights[0, 0, 1] = torch.tensor([[0.5, 0.5, 0.0], [0.1, 0.7, 0.2]])  # mean .3 .6 .1
    weights[0, 1, 1] = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    alignment = torch.tensor([[[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    first = -(math.log(0.3) + math.log(0.6)) / 2
    for mask, expected in (
        ([True, False, False], first),
        ([True, True, False], first - math.log(LEAST)),  # a weight of 0 costs much, not everything
        ([False, False, True], math.log(3)),
    ):
        found = misalignment(weights, alignment, torch.tensor([mask]))
        assert found.item() == pytest.approx(expected, rel=1e-5)
    assert misalignment(weights, torch.zeros(1, 3, 3), torch.ones(1, 3, dtype=torch.bool)).item() == 0


def batch(*, aligned: bool = True) -> Batch:
    """Targets that repeat their sources, to be read from the next symbol but one, in a ring of four."""
    sequences = [[4, 5, 6, 7], [6, 4, 7, 5], [7, 6, 5, 4], [5, 7, 4, 6]]
    index = Index(Ragged.of(sequences), Ragged.of(sequences))
    found = pair_batch(index, range(4), source_eos=False)
    links = Ragged.of([place for t in range(4) for place in (t, (t + 2) % 4)] for _ in sequences)
    return found._replace(alignment=alignment_matrix(links, range(4), 5, 4)) if aligned else found


def learner(**settings) -> Learner:
    torch.manual_seed(1)
    sides = {"encoder": SMALL, "decoder": {**SMALL, "attention": ATTENTION, "input_feeding": False}}
    model = validate(ModelSettings, sides, "test").build(8, 8)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return Learner(model, optimizer, LoopSettings(**settings), TrainState())


def test_a_loss_is_that_of_the_symbols_and_the_weighed_one_of_the_attention():
    teacher, plain = learner(guided_attention=0.3), learner()
    with torch.no_grad():
        weights = teacher.model(batch().source, batch().inputs, weights=True).weights
        apart = misalignment(weights, batch().alignment, batch().target_mask).item()
        found, alone = (one._loss(batch(), 1).total.item() for one in (teacher, plain))
    assert apart > 1
    assert found == pytest.approx(alone + 0.3 * apart, rel=1e-6)
    assert teacher._loss(batch(aligned=False), 1).total.item() == pytest.approx(alone, rel=1e-6)


def test_attention_learns_the_given_alignment():
    """Which is not the one that it would find: every symbol is to be written while looking away from it."""
    for strength, agreement in ((1.0, (0.9, 1.0)), (0.0, (0.0, 0.6))):
        teacher, state = learner(guided_attention=strength), TrainState()
        for _ in range(50):
            teacher.update([batch()], state)
        weights = teacher.model(batch().source, batch().inputs, weights=True).weights
        read = weights.mean(dim=(2, 3))[:, :4]
        found = (read * batch().alignment[:, :4]).sum(dim=-1).mean().item()
        assert agreement[0] < found < agreement[1], strength


@pytest.mark.parametrize("settings", [{}, {"r_drop": 1.0}, {"scheduled_sampling": {"schedule": "linear"}}])
def test_halved_updates_and_other_options_guide_alike(settings):
    """The gradient of a batch is that of its halves, padded rows and idle ones aside."""
    tree = LoopSettings.model_validate({"guided_attention": 0.5, "loss_average": "tokens", **settings})
    whole, parts = learner(), learner()
    whole.settings = parts.settings = tree
    rows = [batch(), batch()]
    first = whole.update(rows, TrainState())
    second = parts.update([half for part in rows for half in halves(part)], TrainState())
    assert first is not None
    assert second is not None
    assert second.loss == pytest.approx(first.loss, rel=1e-5)
    assert second.gradient_norm == pytest.approx(first.gradient_norm, rel=1e-4)


def test_sampled_prefixes_give_weights_where_they_are_asked_for():
    model = build("recurrent", "recurrent").eval()
    whole = model(batch().source, batch().inputs, weights=True)
    stepped = forward_sampled(model, batch().source, batch().inputs, 1.0, "best", weights=True)
    torch.testing.assert_close(stepped.weights, whole.weights)
    assert forward_sampled(model, batch().source, batch().inputs, 1.0, "best").weights is None


def test_what_does_not_look_cannot_be_guided():
    blind = build("recurrent", {"name": "recurrent", "attention": "none"})
    check_guidance(blind, 0.0)
    check_guidance(build("recurrent", "recurrent"), 0.5)
    with pytest.raises(ConfigError, match=r"train.guided_attention 0.5 .* model.decoder.attention must be"):
        check_guidance(blind, 0.5)
