"""The recurrent encoder."""

from collections.abc import Iterable, Sequence
from typing import Literal, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.config import Spec
from transduce.encoders.base import Encoder
from transduce.errors import ConfigError
from transduce.layers.cells import Cell
from transduce.layers.checks import check_dropout, check_sizes
from transduce.layers.dropout import Dropout
from transduce.layers.embedding import Embedding
from transduce.layers.stacking import Stacking
from transduce.types import CellState, Encoded, Shape, Source


class RecurrentEncoder(Encoder, name="recurrent"):
    """Stacked recurrent layers over the source, read in one or both directions.

    `bidirectional: first` reads both ways in the first layer alone (Wu et al. 2016); its final state is then
    that of its backward reading, so that all layers have one width. `reverse_source` reads the real tokens
    last to first (Sutskever et al. 2014); states stay in the order of the source. `width` is the width of
    each direction; `embedding` that of token vectors (default: width). Dropout falls on embeddings and
    between layers; `residual_from` and `layer_norm` are `Stacking`'s, the other dropouts `Embedding`'s and
    `Dropout`'s.
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        cell: Spec[Cell] = Spec(Cell, "gru"),
        width: int = 256,
        embedding: int | None = None,
        layers: int = 1,
        bidirectional: bool | Literal["first"] = True,
        reverse_source: bool = False,
        residual_from: int | None = None,
        layer_norm: bool = False,
        dropout: float = 0.3,
        variational: bool = False,
        embedding_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_sizes("encoder", width=width, layers=layers, embedding=embedding)
        check_dropout("encoder", dropout=dropout, embedding_dropout=embedding_dropout)
        check_directions(bidirectional, layers)
        embedding = width if embedding is None else embedding
        ways = [2 if bidirectional is True or (bidirectional and not layer) else 1 for layer in range(layers)]
        widths = [directions * width for directions in ways]
        self.shape = Shape(widths[-1], widths[-1], layers, ways[-1])
        self.embedding = Embedding(vocab_size, embedding, dropout, variational, embedding_dropout)
        self.reverse_source, self.dropout = reverse_source, Dropout(dropout, variational=variational)
        layers_of_cells = nn.ModuleList(
            nn.ModuleList(cell.build(inputs, width) for _ in range(directions))
            for inputs, directions in zip([embedding, *widths], ways, strict=False)
        )
        self.layers = cast("Sequence[Sequence[Cell]]", layers_of_cells)
        self.stacking = Stacking("encoder", widths, residual_from, layer_norm)

    def forward(self, source: Source) -> Encoded:
        x = self.embedding(source.tokens, self.embedding.masks(len(source.tokens)))
        lengths = source.mask.sum(dim=1)
        on_cpu, mirror = lengths.cpu(), mirrored(lengths, x.shape[1])
        x = flip(x, mirror) if self.reverse_source else x
        finals = []
        for index, directions in enumerate(self.layers):
            given = self.dropout(x, self.dropout.mask(x, len(x), x.shape[-1])) if index else x
            read, final = self._read(directions, given, on_cpu, mirror)
            x = self.stacking(index, read, x)
            finals.append(leaf[:, -self.shape.final_width :] for leaf in final)
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


def check_directions(bidirectional: bool | str, layers: int) -> None:
    """Refuses a first layer beside which there is no other."""
    if bidirectional == "first" and layers < 2:
        raise ConfigError(
            f"encoder: bidirectional 'first' needs at least 2 layers; got layers: {layers}; use true"
        )
