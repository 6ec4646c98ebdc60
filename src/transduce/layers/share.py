"""Products with part of a layer's parameters."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


class Share(nn.Module):
    """W x + b, where W and b are parameters of another layer, or some of their rows or columns.

    It has none of its own, so that what is saved stays as the layer names it. `weight` and `bias` are names
    of the owner's.
    """

    def __init__(
        self,
        owner: nn.Module,
        weight: str,
        bias: str | None = None,
        *,
        rows: slice | None = None,
        columns: slice | None = None,
    ) -> None:
        super().__init__()
        self._owner = (owner,)  # in a tuple: a submodule would give each parameter a second name
        self._names, self._rows, self._columns = (weight, bias), rows, columns

    @property
    def owner(self) -> nn.Module:
        return self._owner[0]

    @property
    def weight(self) -> Float[Tensor, "O I"]:
        matrix = getattr(self.owner, self._names[0])
        matrix = matrix if self._rows is None else matrix[self._rows]  # a slice costs its own backward pass
        return matrix if self._columns is None else matrix[:, self._columns]

    @property
    def bias(self) -> Float[Tensor, " O"] | None:
        if self._names[1] is None:
            return None
        vector = getattr(self.owner, self._names[1])
        return vector if self._rows is None else vector[self._rows]

    def forward(self, x: Float[Tensor, "*batch I"]) -> Float[Tensor, "*batch O"]:
        return F.linear(x, self.weight, self.bias)
