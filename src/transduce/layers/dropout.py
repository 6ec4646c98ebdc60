"""Dropout, anew at every position or once a sentence."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


class Dropout(nn.Module):
    """Zeroes features in training, at the given rate, and scales the rest up to make good for it.

    A `variational` one zeroes the same features at all positions of a sentence (Gal and Ghahramani 2016,
    arXiv:1512.05287): its mask is drawn once a sentence and handed in. It falls between layers only; the
    recurrent connections inside a layer stay whole, as torch's fused kernels need them.
    """

    def __init__(self, rate: float, *, variational: bool = False) -> None:
        super().__init__()
        self.rate, self.variational = rate, variational

    def mask(self, like: Float[Tensor, "*any"], rows: int, width: int) -> Float[Tensor, "N D"] | None:
        """One mask a row, of the kind of number that `like` holds; None where none is to be kept."""
        return drawn(like, rows, width, self.rate) if self.training and self.variational else None

    def forward(
        self, x: Float[Tensor, "*batch D"], mask: Float[Tensor, "N D"] | None = None
    ) -> Float[Tensor, "*batch D"]:
        if mask is None:
            return F.dropout(x, self.rate, self.training)
        return x * (mask if x.dim() == 2 else mask.unsqueeze(1))  # [N D] or [B T D]


def drawn(like: Float[Tensor, "*any"], rows: int, width: int, rate: float) -> Float[Tensor, "N D"] | None:
    """A mask a row: 0 at the given rate, else what keeps the mean. None at rate 0."""
    if not rate:
        return None
    return like.new_empty(rows, width).bernoulli_(1 - rate).div_(1 - rate)
