"""How a recurrent decoder's state starts from the encoder's final state."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.config import Component
from transduce.errors import ConfigError
from transduce.types import CellState, Shape


class InitialState(Component, nn.Module, ABC):
    """Makes the state of `layers` decoder layers of `width` from an encoder of a given shape.

    `leaves` is 2 for a decoder cell with a hidden and a cell state, 1 for a hidden state alone.
    """

    @abstractmethod
    def forward(self, final: CellState) -> CellState: ...


class ZeroState(InitialState, name="zero"):
    """All zeros: the decoder learns of the source by attention alone."""

    def __init__(self, encoder: Shape, layers: int, width: int, leaves: int) -> None:
        super().__init__()
        self.layers, self.width = layers, width

    def forward(self, final: CellState) -> CellState:
        zero = final.hidden.new_zeros(len(final.hidden), self.layers, self.width)
        return CellState(zero, zero)


class CopiedState(InitialState, name="copy"):
    """The encoder's final states as they are, layer by layer; layers, widths and directions must agree."""

    def __init__(self, encoder: Shape, layers: int, width: int, leaves: int) -> None:
        super().__init__()
        if (encoder.layers, encoder.final_width, encoder.directions) != (layers, width, 1):
            raise ConfigError(
                f"decoder.initial 'copy': expected equal layers, widths and directions; got encoder layers "
                f"{encoder.layers}, width {encoder.final_width}, directions {encoder.directions} and decoder "
                f"layers {layers}, width {width}, directions 1; use initial: bridge"
            )

    def forward(self, final: CellState) -> CellState:
        return final


class BridgedState(InitialState, name="bridge"):
    """tanh(W ·) of all final states together."""

    def __init__(self, encoder: Shape, layers: int, width: int, leaves: int) -> None:
        super().__init__()
        self.sizes = (layers, width)
        inputs = encoder.layers * encoder.final_width
        self.bridges = nn.ModuleList(nn.Linear(inputs, layers * width) for _ in range(leaves))

    def forward(self, final: CellState) -> CellState:
        bridged = [self._bridge(*pair) for pair in zip(self.bridges, final, strict=False)]
        return CellState(bridged[0], bridged[-1] if len(bridged) > 1 else torch.zeros_like(bridged[0]))

    def _bridge(self, linear: nn.Module, final: Float[Tensor, "B L D"]) -> Float[Tensor, "B M W"]:
        return torch.tanh(linear(final.flatten(1))).unflatten(1, self.sizes)


class BackwardState(InitialState, name="backward"):
    """tanh(W ←h_1): from the first layer's backward reading alone (Bahdanau et al. 2015, A.2.2)."""

    def __init__(self, encoder: Shape, layers: int, width: int, leaves: int) -> None:
        super().__init__()
        if encoder.directions != 2:
            raise ConfigError(
                f"decoder.initial 'backward': expected a bidirectional encoder; got {encoder.directions} "
                f"direction; use initial: bridge"
            )
        self.backward_width = encoder.final_width // 2
        self.bridge = BridgedState(
            Shape(self.backward_width, self.backward_width, 1, 1), layers, width, leaves
        )

    def forward(self, final: CellState) -> CellState:
        return self.bridge(CellState(*(leaf[:, :1, self.backward_width :] for leaf in final)))
