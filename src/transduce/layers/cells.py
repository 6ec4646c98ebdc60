"""Recurrent cells behind one state.

A cell reads a whole sequence by `run` (torch's fused kernels, padding skipped) or one symbol by
`step`; the part of a step that does not depend on the state is `project`, computed for all at once,
and the other is `recur`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from transduce.config import Component
from transduce.layers.activations import tanh
from transduce.layers.share import Share

State = tuple[Float[Tensor, "N D"], ...]


class Cell(Component, nn.Module, ABC):
    """One recurrent layer in one direction; its state is a tuple whose first leaf is the hidden state."""

    gates: ClassVar[int]
    leaves: ClassVar[int]

    def __init__(self, rnn: nn.RNNBase) -> None:
        super().__init__()
        self.rnn = rnn
        self.project = Share(rnn, "weight_ih_l0", "bias_ih_l0")
        self.recur = Share(rnn, "weight_hh_l0", "bias_hh_l0")
        self.read: Reader = run_fused

    @abstractmethod
    def start(self, hidden: Float[Tensor, "N D"], cell: Float[Tensor, "N D"]) -> State:
        """The state made of these; a cell without a second state ignores `cell`."""

    @abstractmethod
    def finish(self, state: State) -> tuple[Float[Tensor, "N D"], Float[Tensor, "N D"]]:
        """The inverse of `start`, zeros for a second state that there is not."""

    @abstractmethod
    def step(self, inputs: Float[Tensor, "N G"], state: State) -> State:
        """The state after one symbol, given its projected input."""

    def run(
        self, x: Float[Tensor, "B T I"], state: State, lengths: Int[Tensor, " B"] | None = None
    ) -> tuple[Float[Tensor, "B T D"], State]:
        """Reads whole sequences; with `lengths` (on the CPU), padding is skipped and gives zeros."""
        return self.read(self, x, state, lengths)


Reader = Callable[[Cell, Tensor, State, Tensor | None], tuple[Tensor, State]]


def run_fused(
    cell: Cell, x: Float[Tensor, "B T I"], state: State, lengths: Int[Tensor, " B"] | None
) -> tuple[Float[Tensor, "B T D"], State]:
    """`run` by torch's own kernels."""
    leaves = [leaf.unsqueeze(0).contiguous() for leaf in state]
    start = tuple(leaves) if len(leaves) > 1 else leaves[0]
    if lengths is None:
        values, final = cell.rnn(x, start)
    else:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        values, final = cell.rnn(packed, start)
        values, _ = pad_packed_sequence(values, batch_first=True, total_length=x.shape[1])
    return values, tuple(leaf[0] for leaf in (final if len(leaves) > 1 else (final,)))


def run_stepwise(
    cell: Cell, x: Float[Tensor, "B T I"], state: State, lengths: Int[Tensor, " B"] | None
) -> tuple[Float[Tensor, "B T D"], State]:
    """`run` by `step`, for what torch has no kernel for: a sentence keeps its state once it has ended."""
    values = []
    for t, inputs in enumerate(cell.project(x).unbind(dim=1)):
        after = cell.step(inputs, state)
        if lengths is None:
            state, value = after, after[0]
        else:
            inside = (lengths.to(x.device) > t).unsqueeze(1)
            state = tuple(torch.where(inside, new, old) for new, old in zip(after, state, strict=True))
            value = after[0].masked_fill(~inside, 0.0)
        values.append(value)
    return torch.stack(values, dim=1), state


class GruCell(Cell, name="gru"):
    """Gated recurrent unit (Cho et al. 2014, arXiv:1406.1078).

    `reset: after` applies the reset gate to U s, as torch and cuDNN do; `before` to s itself, U (r ∘ s),
    as the paper and Bahdanau et al. 2015 do. Without `hidden_bias`, b of U s + b stays 0.
    """

    gates = 3
    leaves = 1

    def __init__(
        self,
        input_width: int,
        width: int,
        *,
        reset: Literal["after", "before"] = "after",
        hidden_bias: bool = True,
    ) -> None:
        super().__init__(nn.GRU(input_width, width, batch_first=True))
        self.reset = reset
        if reset == "before":
            self.propose = Share(self.rnn, "weight_hh_l0", "bias_hh_l0", rows=slice(2 * width, None))
            self.read = run_stepwise
        if not hidden_bias:
            freeze_at_zero(cast("Tensor", self.rnn.bias_hh_l0))

    def start(self, hidden: Float[Tensor, "N D"], cell: Float[Tensor, "N D"]) -> State:
        return (hidden,)

    def finish(self, state: State) -> tuple[Float[Tensor, "N D"], Float[Tensor, "N D"]]:
        return state[0], torch.zeros_like(state[0])

    def step(self, inputs: Float[Tensor, "N G"], state: State) -> State:
        (hidden,) = state
        width = hidden.shape[-1]
        recurrent = self.recur(hidden)
        gates = torch.sigmoid(inputs[:, : 2 * width] + recurrent[:, : 2 * width])
        reset, update = gates.chunk(2, dim=-1)
        after = self.reset == "after"
        read = reset * recurrent[:, 2 * width :] if after else self.propose(reset * hidden)
        candidate = tanh(inputs[:, 2 * width :] + read)
        return (torch.lerp(candidate, hidden, update),)


class LstmCell(Cell, name="lstm"):
    """Long short-term memory (Hochreiter and Schmidhuber 1997) with forget gates."""

    gates = 4
    leaves = 2

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__(nn.LSTM(input_width, width, batch_first=True))

    def start(self, hidden: Float[Tensor, "N D"], cell: Float[Tensor, "N D"]) -> State:
        return hidden, cell

    def finish(self, state: State) -> tuple[Float[Tensor, "N D"], Float[Tensor, "N D"]]:
        return state[0], state[1]

    def step(self, inputs: Float[Tensor, "N G"], state: State) -> State:
        hidden, cell = state
        gates = inputs + self.recur(hidden)
        enter, forget, candidate, leave = gates.chunk(4, dim=-1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * tanh(candidate)
        return torch.sigmoid(leave) * tanh(cell), cell


class TanhCell(Cell, name="tanh"):
    """The simple recurrent network: tanh(W x + U s + b) (Elman 1990)."""

    gates = 1
    leaves = 1

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__(nn.RNN(input_width, width, batch_first=True))

    def start(self, hidden: Float[Tensor, "N D"], cell: Float[Tensor, "N D"]) -> State:
        return (hidden,)

    def finish(self, state: State) -> tuple[Float[Tensor, "N D"], Float[Tensor, "N D"]]:
        return state[0], torch.zeros_like(state[0])

    def step(self, inputs: Float[Tensor, "N G"], state: State) -> State:
        return (tanh(inputs + self.recur(state[0])),)


def freeze_at_zero(parameter: Tensor) -> None:
    """Keeps a parameter that torch's kernel wants, but the model does not have, at 0."""
    nn.init.zeros_(parameter)
    parameter.requires_grad_(False)
