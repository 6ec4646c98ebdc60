"""The loss counts real target tokens and nothing else."""

import math

import pytest
import torch
from torch.nn import functional

from transduce.training.loss import cross_entropy
from transduce.types import PAD

LN4 = 1.386294361119891


def mask_of(target: torch.Tensor) -> torch.Tensor:
    return target.ne(PAD)


def case(padding: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Two targets over a vocabulary of four, with columns of padding, and logits of zero."""
    target = functional.pad(torch.tensor([[2, 3], [2, PAD]]), (0, padding), value=PAD)
    return torch.zeros(*target.shape, 4, dtype=torch.float64, requires_grad=True), target


@pytest.mark.parametrize("padding", [0, 1, 10])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_TRN_01_smoothing_spreads_nothing_over_padding(smoothing, padding):
    logits, target = case(padding)
    loss = cross_entropy(logits.log_softmax(-1), target, mask_of(target), smoothing)
    assert loss.tokens == 3
    assert loss.total.item() / loss.tokens == pytest.approx(LN4, abs=1e-12)
    loss.total.backward()
    assert logits.grad is not None
    assert logits.grad[~mask_of(target)].count_nonzero() == 0
    assert logits.grad[mask_of(target)].count_nonzero() == 3 * 4


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_the_figure_is_torchs(smoothing):
    torch.manual_seed(0)
    logits = torch.randn(3, 5, 7, dtype=torch.float64)
    target = torch.randint(1, 7, (3, 5))
    target[0, 3:] = target[2, 1:] = PAD
    loss = cross_entropy(logits.log_softmax(-1), target, mask_of(target), smoothing)
    expected = functional.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=smoothing, reduction="sum"
    )
    assert loss.total.item() == pytest.approx(expected.item(), abs=1e-9)
    assert loss.tokens == 3 + 5 + 1


def test_padding_may_hold_anything():
    log_probs = torch.full((1, 3, 4), math.nan)
    log_probs[0, 0] = torch.tensor([0.1, 0.2, 0.3, 0.4]).log()
    target, mask = torch.tensor([[3, 9, 9]]), torch.tensor([[True, False, False]])
    loss = cross_entropy(log_probs, target, mask, 0.1)
    expected = -(0.9 * math.log(0.4) + 0.1 * sum(map(math.log, (0.1, 0.2, 0.3, 0.4))) / 4)
    assert loss.total.item() == pytest.approx(expected, abs=1e-6)
    assert int(loss.correct) == 1


def test_right_answers_are_counted_at_real_tokens():
    log_probs = torch.eye(4)[torch.tensor([[2, 3, 0], [1, 0, 0]])].log()
    target = torch.tensor([[2, 1, PAD], [1, PAD, PAD]])
    loss = cross_entropy(log_probs, target, mask_of(target))
    assert (int(loss.correct), loss.tokens) == (2, 3)


def test_TRN_05_sums_weigh_tokens_not_batches():
    sums = []
    for count, right in ((32, True), (8, False)):
        log_probs = torch.tensor([0.1, 0.1, 0.1, 0.7]).log().expand(1, count, 4)
        target = torch.full((1, count), 3 if right else 2)
        sums.append(cross_entropy(log_probs, target, torch.ones_like(target, dtype=torch.bool)))
    correct, tokens = sum(int(loss.correct) for loss in sums), sum(loss.tokens for loss in sums)
    assert correct / tokens == 0.8
    mean = sum(loss.total.item() for loss in sums) / tokens
    assert mean == pytest.approx(-(32 * math.log(0.7) + 8 * math.log(0.1)) / 40, abs=1e-6)
