"""The loss: cross-entropy over the real target tokens."""

from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor


class Loss(NamedTuple):
    """Sums over real target tokens; divide by `tokens` for means."""

    total: Float[Tensor, ""]
    correct: Int[Tensor, ""]
    tokens: int


def cross_entropy(
    log_probs: Float[Tensor, "B T V"],
    target: Int[Tensor, "B T"],
    mask: Bool[Tensor, "B T"],
    label_smoothing: float = 0.0,
) -> Loss:
    """-(1 - ε) log p(y) - ε/V Σ_v log p(v), summed over the tokens where `mask` is True (natural log)."""
    real = log_probs[mask]  # [tokens V]: padding has no part in loss or gradient
    expected = target[mask]
    total = -real.gather(1, expected.unsqueeze(1)).sum()
    if label_smoothing:
        total = (1 - label_smoothing) * total - label_smoothing * real.mean(dim=-1).sum()
    correct = (real.detach().argmax(dim=-1) == expected).sum()
    return Loss(total, correct, len(expected))


def agreement(
    first: Float[Tensor, "B T V"], second: Float[Tensor, "B T V"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """½ (KL(p‖q) + KL(q‖p)), summed over the tokens where `mask` is True.

    What two passes with different dropout are kept together by (R-Drop: Liang et al. 2021, arXiv:2106.14448,
    eq. 2); both directions together are Σ (p - q)(log p - log q).
    """
    p, q = first[mask], second[mask]
    return ((p.exp() - q.exp()) * (p - q)).sum() / 2
