"""The hyperbolic tangent, fast where decoding on a CPU spends its time on it."""

import torch
from jaxtyping import Float
from torch import Tensor


def tanh(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """tanh x; in decoding on a CPU as 2 σ(2x) − 1, which is the same to a few units of the last place of 1.

    torch's sigmoid takes a sixth of the time of its tanh there; on other devices, and where gradients are
    wanted, one kernel is better than four.
    """
    return (2 * x).sigmoid_().mul_(2).sub_(1) if decodes_on_cpu(x) else torch.tanh(x)


def tanh_(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """`tanh` in place."""
    return x.mul_(2).sigmoid_().mul_(2).sub_(1) if decodes_on_cpu(x) else x.tanh_()


def decodes_on_cpu(x: Float[Tensor, "*any"]) -> bool:
    """Whether no gradient is wanted, on a CPU, of numbers precise enough to lose nothing near 0."""
    return not torch.is_grad_enabled() and x.device.type == "cpu" and x.dtype.itemsize >= 4
