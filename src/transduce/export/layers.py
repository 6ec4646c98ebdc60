"""Recurrent layers as ONNX's own operators, which read sources of any length and skip padding.

torch's exporter would unroll a layer over the positions of its example. So a layer is read by one opaque
operator of torch, and that is translated.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from transduce.errors import ConfigError, unknown
from transduce.layers.cells import Cell, State

INT32 = 6  # ONNX's number of the type


class Operator(NamedTuple):
    """An operator of ONNX: its name, the order in which it wants torch's gates, and its options."""

    name: str
    gates: Sequence[int]
    options: Callable[[Any], Mapping[str, int]]


OPERATORS = {  # by the name of the cell
    "gru": Operator("GRU", (1, 0, 2), lambda cell: {"linear_before_reset": int(cell.reset == "after")}),
    "lstm": Operator("LSTM", (0, 3, 1, 2), lambda cell: {}),
    "tanh": Operator("RNN", (0,), lambda cell: {}),
}


class OnnxLayer(nn.Module):
    """Reads whole sequences as `run` does, for the exporter alone. Raises ConfigError for an unknown cell."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        if cell.name not in OPERATORS:
            raise ConfigError(
                f"export: {unknown('cell', cell.name, OPERATORS)}, for which ONNX has an operator"
            )
        operator, rnn = OPERATORS[cell.name], cell.rnn
        self.kind, self.leaves = operator.name, cell.leaves
        self.options = json.dumps(operator.options(cell))
        ordered = [in_order(parameter, operator.gates) for parameter in rnn.all_weights[0]]
        self.register_buffer("enter", ordered[0])
        self.register_buffer("recur", ordered[1])
        self.register_buffer("bias", torch.cat(ordered[2:], dim=1))

    def forward(
        self, cell: Cell, x: Tensor, state: State, lengths: Tensor | None = None
    ) -> tuple[Tensor, State]:
        parameters = [self.enter, self.recur, self.bias]
        read = torch.ops.transduce.read_layer
        values, *final = read(x, list(state), lengths, parameters, self.kind, self.options)
        return values, tuple(final[: self.leaves])


def in_order(parameter: Tensor, gates: Sequence[int]) -> Tensor:
    """[1 G …] with the gates in ONNX's order."""
    parts = parameter.detach().chunk(len(gates))
    return torch.cat([parts[gate] for gate in gates]).unsqueeze(0)


@torch.library.custom_op("transduce::read_layer", mutates_args=())
def read_layer(
    x: Tensor,
    state: Sequence[Tensor],
    lengths: Tensor,
    parameters: Sequence[Tensor],
    kind: str,
    options: str,
) -> tuple[Tensor, Tensor, Tensor]:
    """The values [B T D] of a layer, first and last leaf [B D] of its last state; `options` are JSON."""
    raise NotImplementedError("a layer of an ONNX graph is translated, never run")


@read_layer.register_fake
def _shapes(
    x: Tensor,
    state: Sequence[Tensor],
    lengths: Tensor,
    parameters: Sequence[Tensor],
    kind: str,
    options: str,
) -> tuple[Tensor, Tensor, Tensor]:
    read = x.new_empty(x.shape[0], x.shape[1], state[0].shape[1])
    return read, torch.empty_like(state[0]), torch.empty_like(state[-1])


def translate_layer(
    x: Any,
    state: Sequence[Any],
    lengths: Any,
    parameters: Sequence[Any],
    kind: str,
    options: str,
) -> tuple[Any, Any, Any]:
    """`read_layer` in ONNX's operators, which read [T B I] and give [T 1 B D]."""
    from onnxscript import opset20

    onnx: Any = opset20  # its operators take plain lists, which their types do not say
    started = [onnx.Unsqueeze(leaf, [0]) for leaf in state]
    read, *final = getattr(onnx, kind)(
        onnx.Transpose(x, perm=[1, 0, 2]),
        *parameters,
        onnx.Cast(lengths, to=INT32),
        *started,
        hidden_size=parameters[1].shape[-1],
        **json.loads(options),
    )
    ended = [onnx.Squeeze(leaf, [0]) for leaf in final]
    return onnx.Transpose(onnx.Squeeze(read, [1]), perm=[1, 0, 2]), ended[0], ended[-1]
