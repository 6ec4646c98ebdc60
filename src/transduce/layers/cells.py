"""Recurrent cells behind one state.

A cell reads a whole sequence by `run` (torch's fused kernels, padding skipped) or one symbol by
`step`; the part of a step that does not depend on the state is `project`, computed for all at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from transduce.config import Component

State = tuple[Float[Tensor, "N D"], ...]


class Cell(Component, nn.Module, ABC):
    """One recurrent layer in one direction; its state is a tuple whose first leaf is the hidden state."""

    gates: ClassVar[int]
    leaves: ClassVar[int]
    rnn: nn.RNNBase

    @abstractmethod
    def start(self, hidden: Float[Tensor, "N D"], cell: Float[Tensor, "N D"]) -> State:
        """The state made of these; a cell without a second state ignores `cell`."""

    @abstractmethod
    def finish(self, state: State) -> tuple[Float[Tensor, "N D"], Float[Tensor, "N D"]]:
        """The inverse of `start`, zeros for a second state that there is not."""

    @abstractmethod
    def step(self, inputs: Float[Tensor, "N G"], state: State) -> State:
        """The state after one symbol, given its projected input."""

    @abstractmethod
    def pack(self, state: State) -> Tensor | tuple[Tensor, ...]:
        """The state as torch's recurrent modules take it."""

    @abstractmethod
    def unpack(self, state: Tensor | tuple[Tensor, ...]) -> State: ...

    @property
    def weights(self) -> Sequence[Tensor]:
        """Input and recurrent matrices, then their biases."""
        return self.rnn.all_weights[0]

    def project(self, x: Float[Tensor, "*batch I"]) -> Float[Tensor, "*batch G"]:
        """The input's share of the gates, for any number of symbols at once."""
        matrix, _, bias, _ = self.weights
        return F.linear(x, matrix, bias)

    def recur(self, hidden: Float[Tensor, "N D"]) -> Float[Tensor, "N G"]:
        """The state's share of the gates."""
        _, matrix, _, bias = self.weights
        return F.linear(hidden, matrix, bias)

    def run(
        self, x: Float[Tensor, "B T I"], state: State, lengths: Int[Tensor, " B"] | None = None
    ) -> tuple[Float[Tensor, "B T D"], State]:
        """Reads whole sequences; with `lengths` (on the CPU), padding is skipped and gives zeros."""
        if lengths is None:
            values, final = self.rnn(x, self.pack(state))
            return values, self.unpack(final)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        values, final = self.rnn(packed, self.pack(state))
        return pad_packed_sequence(values, batch_first=True, total_length=x.shape[1])[0], self.unpack(final)


class GruCell(Cell, name="gru"):
    """Gated recurrent unit (Cho et al. 2014, arXiv:1406.1078), the reset gate after the matrix."""

    gates = 3
    leaves = 1

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.rnn = nn.GRU(input_width, width, batch_first=True)

    def start(self, hidden: Float[Tensor, "N D"], cell: Float[Tensor, "N D"]) -> State:
        return (hidden,)

    def finish(self, state: State) -> tuple[Float[Tensor, "N D"], Float[Tensor, "N D"]]:
        return state[0], torch.zeros_like(state[0])

    def step(self, inputs: Float[Tensor, "N G"], state: State) -> State:
        (hidden,) = state
        recurrent = self.recur(hidden)
        width = hidden.shape[-1]
        gates = torch.sigmoid(inputs[:, : 2 * width] + recurrent[:, : 2 * width])
        reset, update = gates.chunk(2, dim=-1)
        candidate = torch.tanh(inputs[:, 2 * width :] + reset * recurrent[:, 2 * width :])
        return (torch.lerp(candidate, hidden, update),)

    def pack(self, state: State) -> Tensor:
        return state[0].unsqueeze(0).contiguous()

    def unpack(self, state: Tensor | tuple[Tensor, ...]) -> State:
        return (state[0],)


class LstmCell(Cell, name="lstm"):
    """Long short-term memory (Hochreiter and Schmidhuber 1997) with forget gates."""

    gates = 4
    leaves = 2

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.rnn = nn.LSTM(input_width, width, batch_first=True)

    def start(self, hidden: Float[Tensor, "N D"], cell: Float[Tensor, "N D"]) -> State:
        return hidden, cell

    def finish(self, state: State) -> tuple[Float[Tensor, "N D"], Float[Tensor, "N D"]]:
        return state[0], state[1]

    def step(self, inputs: Float[Tensor, "N G"], state: State) -> State:
        hidden, cell = state
        gates = inputs + self.recur(hidden)
        enter, forget, candidate, leave = gates.chunk(4, dim=-1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(candidate)
        return torch.sigmoid(leave) * torch.tanh(cell), cell

    def pack(self, state: State) -> tuple[Tensor, ...]:
        return tuple(leaf.unsqueeze(0).contiguous() for leaf in state)

    def unpack(self, state: Tensor | tuple[Tensor, ...]) -> State:
        return state[0][0], state[1][0]
