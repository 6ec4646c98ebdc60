"""Scheduled sampling: training on prefixes that are partly the model's own (Bengio et al. 2015)."""

import math
from abc import ABC, abstractmethod
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.config import Component, Settings, Spec
from transduce.errors import ConfigError
from transduce.model import Seq2Seq
from transduce.types import Output, Source


class TruthSchedule(Component, ABC):
    """ε_i, the probability with which the decoder reads the true symbol at update i (from 1)."""

    @abstractmethod
    def truth(self, update: int) -> float: ...


class LinearTruth(TruthSchedule, name="linear"):
    """max(floor, start - slope · i)."""

    def __init__(self, *, start: float = 1.0, slope: float = 1e-4, floor: float = 0.0) -> None:
        if not (0 <= floor <= start <= 1 and 0 <= slope < math.inf):
            raise ConfigError(
                f"train.scheduled_sampling: expected 0 ≤ floor ≤ start ≤ 1 and a slope of at least 0; "
                f"got floor {floor}, start {start}, slope {slope}"
            )
        self.start, self.slope, self.floor = start, slope, floor

    def truth(self, update: int) -> float:
        return max(self.floor, self.start - self.slope * update)


class ExponentialTruth(TruthSchedule, name="exponential"):
    """k^i, k < 1."""

    def __init__(self, *, k: float = 0.9999) -> None:
        if not 0 <= k < 1:
            raise ConfigError(f"train.scheduled_sampling.k: expected at least 0 and below 1; got {k}")
        self.k = k

    def truth(self, update: int) -> float:
        return self.k**update


class InverseSigmoidTruth(TruthSchedule, name="inverse_sigmoid"):
    """k / (k + e^{i/k}), k ≥ 1, computed as σ(ln k - i/k), which does not overflow."""

    def __init__(self, *, k: float = 1000.0) -> None:
        if not 1 <= k < math.inf:
            raise ConfigError(f"train.scheduled_sampling.k: expected at least 1; got {k}")
        self.k = k

    def truth(self, update: int) -> float:
        doubt = update / self.k - math.log(self.k)
        return math.exp(-doubt) / (1 + math.exp(-doubt)) if doubt > 0 else 1 / (1 + math.exp(doubt))


class ScheduledSampling(Settings):
    """Lets the decoder read its own symbols, with a probability that grows (arXiv:1506.03099).

    A coin a token decides; the model's symbol is drawn from its distribution or its `best`, and no gradient
    flows through the choice. What is minimised is then no longer the likelihood of the data, and need not
    lead to it (Huszár 2015, arXiv:1511.05101).
    """

    schedule: Spec[TruthSchedule] = Spec(TruthSchedule, "inverse_sigmoid")
    take: Literal["draw", "best"] = "draw"


def forward_sampled(
    model: Seq2Seq,
    source: Source,
    tokens: Int[Tensor, "B T"],
    truth: float,
    take: Literal["draw", "best"],
    *,
    weights: bool = False,
) -> Output:
    """As `model(source, tokens)`, each symbol but the first being the true one with probability `truth`."""
    memory, state = model.start(source)
    true = torch.rand(tokens.shape, device=tokens.device) < truth
    token, log_probs, seen = tokens[:, 0], [], []
    for position in range(1, tokens.shape[1] + 1):
        state, output = model.step(memory, state, token, weights=weights)
        log_probs.append(output.log_probs)
        seen.append(output.weights)
        if position < tokens.shape[1]:
            own = choose(output.log_probs.detach(), take)
            token = tokens[:, position].where(true[:, position], own)
    return Output(torch.stack(log_probs, dim=1), torch.stack(seen, dim=1) if weights else None)


def choose(log_probs: Float[Tensor, "B V"], take: Literal["draw", "best"]) -> Int[Tensor, " B"]:
    """One symbol a row."""
    if take == "best":
        return log_probs.argmax(dim=-1)
    return log_probs.exp().multinomial(1).squeeze(1)
