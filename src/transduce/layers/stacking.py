"""How layers of a stack are joined."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor, nn

from transduce.errors import ConfigError


class Stacking(nn.Module):
    """What each layer passes on: its state, or more.

    From layer `residual_from` on (the first is 1) that is its state plus what the layer was given
    (He et al. 2016, arXiv:1512.03385; Wu et al. 2016, arXiv:1609.08144, from the third). With
    `layer_norm` each sum is normalised over its features (Ba et al. 2016, arXiv:1607.06450).
    """

    def __init__(
        self, where: str, widths: Sequence[int], residual_from: int | None, layer_norm: bool
    ) -> None:
        super().__init__()
        check_residual(where, widths, residual_from)
        self.first = len(widths) if residual_from is None else residual_from - 1
        self.norms = nn.ModuleList(nn.LayerNorm(width) for width in widths if layer_norm)

    def forward(
        self, layer: int, state: Float[Tensor, "*batch D"], given: Float[Tensor, "*batch I"]
    ) -> Float[Tensor, "*batch D"]:
        """What `layer` (from 0) passes on, with this state, after it was given that."""
        passed = state + given if layer >= self.first else state
        return self.norms[layer](passed) if self.norms else passed

    def climb(self, states: Sequence[Float[Tensor, "*batch D"]]) -> list[Float[Tensor, "*batch D"]]:
        """What every layer passes on, from their states alone; all have one width."""
        passed = [self(0, states[0], states[0])]
        for layer, state in enumerate(states[1:], 1):
            passed.append(self(layer, state, passed[-1]))
        return passed


def check_residual(where: str, widths: Sequence[int], residual_from: int | None) -> None:
    """Refuses a layer that there is not, or one that is given another width than it has."""
    if residual_from is None:
        return
    if not 2 <= residual_from <= len(widths):
        raise ConfigError(
            f"{where}.residual_from: expected a layer from 2 to layers, {len(widths)}; got {residual_from}"
        )
    if widths[residual_from - 2] != widths[-1]:
        raise ConfigError(
            f"{where}.residual_from: expected equal widths of the layers that it adds; got {residual_from}, "
            f"and layers of width {', '.join(map(str, widths))}"
        )
