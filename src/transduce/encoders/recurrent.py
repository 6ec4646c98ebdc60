"""The recurrent encoder."""

from collections.abc import Iterable, Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.config import Spec
from transduce.encoders.base import Encoder
from transduce.layers.cells import Cell
from transduce.layers.checks import check_dropout, check_sizes
from transduce.layers.embedding import Embedding
from transduce.types import CellState, Encoded, Shape, Source


class RecurrentEncoder(Encoder, name="recurrent"):
    """Stacked recurrent layers over the source, read in one or both directions.

    `reverse_source` reads the real tokens last to first (Sutskever et al. 2014); states stay in the
    order of the source. `width` is the width of each direction; `embedding` that of token vectors
    (default: width). Dropout falls on embeddings and between layers.
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        cell: Spec[Cell] = Spec(Cell, "gru"),
        width: int = 256,
        embedding: int | None = None,
        layers: int = 1,
        bidirectional: bool = True,
        reverse_source: bool = False,
        dropout: float = 0.3,
    ) -> None:
        super().__init__()
        check_sizes("encoder", width=width, layers=layers, embedding=embedding)
        check_dropout("encoder", dropout)
        embedding = width if embedding is None else embedding
        directions = 2 if bidirectional else 1
        self.shape = Shape(directions * width, directions * width, layers, directions)
        self.embedding, self.reverse_source = Embedding(vocab_size, embedding, dropout), reverse_source
        self.dropout = nn.Dropout(dropout)
        inputs = [embedding] + [directions * width] * (layers - 1)
        layers_of_cells = nn.ModuleList(
            nn.ModuleList(cell.build(size, width) for _ in range(directions)) for size in inputs
        )
        self.layers = cast("Sequence[Sequence[Cell]]", layers_of_cells)

    def forward(self, source: Source) -> Encoded:
        x = self.embedding(source.tokens)
        lengths = source.mask.sum(dim=1)
        on_cpu, mirror = lengths.cpu(), mirrored(lengths, x.shape[1])
        x = flip(x, mirror) if self.reverse_source else x
        finals = []
        for index, directions in enumerate(self.layers):
            x = self.dropout(x) if index else x
            x, final = self._read(directions, x, on_cpu, mirror)
            finals.append(final)
        hidden, cell = (torch.stack(leaves, dim=1) for leaves in zip(*finals, strict=True))
        x = flip(x, mirror) if self.reverse_source else x  # back to the order that masks and maps are in
        return Encoded(x, source.mask, CellState(hidden, cell))

    def _read(
        self, directions: Iterable[Cell], x: Tensor, lengths: Tensor, mirror: Tensor
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        values, finals = [], []
        for backward, cell in enumerate(directions):
            zero = x.new_zeros(len(x), cell.rnn.hidden_size)
            inputs = flip(x, mirror) if backward else x
            outputs, state = cell.run(inputs, cell.start(zero, zero), lengths)
            values.append(flip(outputs, mirror) if backward else outputs)
            finals.append(cell.finish(state))
        final = tuple(torch.cat(leaves, dim=-1) for leaves in zip(*finals, strict=True))
        return torch.cat(values, dim=-1), final


def mirrored(lengths: Int[Tensor, " B"], width: int) -> Int[Tensor, "B S"]:
    """For each position the one it changes place with when the real tokens are read backwards."""
    position = torch.arange(width, device=lengths.device)
    mirror = lengths.unsqueeze(1) - 1 - position
    return torch.where(mirror >= 0, mirror, position)


def flip(x: Float[Tensor, "B S D"], mirror: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
    return x.gather(1, mirror.unsqueeze(-1).expand_as(x))
