"""Matrices in 8-bit integers: a quarter of the memory, and faster products on a CPU.

A matrix has one scale a row, and what is multiplied by it one scale a vector, found as it comes. Sums of
8-bit products are exact, so a product's bits depend on its own vector alone: not on the batch.
"""

import functools

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.errors import ConfigError
from transduce.layers.products import replace_products

GREATEST = 127  # value of an 8-bit integer


class Int8Linear(nn.Module):
    """W x + b with W in 8 bits, a scale a row, and x rounded to 8 bits by a scale of its own.

    Symmetric rounding, without zero points (Jacob et al. 2018, arXiv:1712.05877; Wu et al. 2016,
    arXiv:1609.08144, §6). A vector that holds NaN or infinity gives NaN.
    """

    matrix: Tensor  # [I O]
    scale: Tensor  # [O]
    bias: Tensor | None

    def __init__(self, weight: Float[Tensor, "O I"], bias: Float[Tensor, " O"] | None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        scale = row_scales(weight.detach(), weight_reach())
        rounded = (weight.detach() / scale).round().to(torch.int8)
        # torch's product reads strides: a copy has plain ones even where a side is 1
        self.register_buffer("matrix", rounded.t().clone(memory_format=torch.contiguous_format))
        self.register_buffer("scale", scale.squeeze(1))
        self.register_buffer("bias", None if bias is None else bias.detach().clone())

    def forward(self, x: Float[Tensor, "*batch I"]) -> Float[Tensor, "*batch O"]:
        rows = x.reshape(-1, self.in_features)
        scale = row_scales(rows, GREATEST)
        sums = torch.ops.aten._int_mm((rows / scale).round_().to(torch.int8), self.matrix)
        y = (sums * self.scale).mul_(scale)
        return (y if self.bias is None else y.add_(self.bias)).view(*x.shape[:-1], self.out_features)


def row_scales(rows: Float[Tensor, "N I"], reach: int) -> Float[Tensor, "N 1"]:
    """What each row is divided by, so that its values lie in ±reach; never 0."""
    return rows.abs().amax(dim=1, keepdim=True).div_(reach).clamp_(min=torch.finfo(rows.dtype).tiny)


@functools.cache
def weight_reach() -> int:
    """The greatest weight whose products this machine adds up exactly.

    x86 processors without VNNI add two products in 16 bits, and stop at their limit: there weights have
    7 bits. A product of the greatest values shows it.
    """
    rows, matrix = (torch.full(shape, GREATEST, dtype=torch.int8) for shape in ((4, 64), (64, 64)))
    exact = torch.ops.aten._int_mm(rows, matrix).eq(64 * GREATEST**2).all()
    return GREATEST if exact else 64


def quantise(model: nn.Module) -> None:
    """Turns the matrices of a model on the CPU into int8, in place; it can then be used, not trained.

    Raises ConfigError for a model elsewhere than on the CPU.
    """
    if elsewhere := {str(parameter.device) for parameter in model.parameters()} - {"cpu"}:
        raise ConfigError(f"int8: expected a model on the CPU; got one on {', '.join(sorted(elsewhere))}")
    replace_products(model, Int8Linear)
