"""The recurrent decoder with attention."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transduce.attention import Attended, Attention, Keys
from transduce.config import Spec
from transduce.decoders.base import Decoder
from transduce.errors import ConfigError
from transduce.layers.cells import Cell, State
from transduce.layers.checks import check_dropout, check_sizes
from transduce.layers.embedding import Embedding
from transduce.layers.initial_states import InitialState
from transduce.layers.readouts import Readout
from transduce.types import CellState, Encoded, Output, Shape, Source


class Memory(NamedTuple):
    """A sentence ready to be attended to; B rows."""

    keys: Keys
    mask: Bool[Tensor, "B S"]


class DecoderState(NamedTuple):
    """What changes with each token; N rows."""

    cells: tuple[State, ...]
    feed: Float[Tensor, "N F"]
    position: Int[Tensor, " N"]
    attention: Any


class Read(NamedTuple):
    """What one position gives; `features` of state and context only where the next position needs them."""

    hidden: Float[Tensor, "N D"]
    context: Float[Tensor, "N C"]
    features: Float[Tensor, "N R"] | None
    weights: Float[Tensor, "N H S"]


class RecurrentDecoder(Decoder, name="recurrent"):
    """Stacked recurrent layers that attend to the source.

    `attend: before` queries with s_{t-1} and feeds the context to the cell (Bahdanau et al. 2015);
    `after` queries with s_t (Luong et al. 2015), whose `input_feeding` feeds the features that the
    output layer reads to the next cell. In a stack the query is the state of the `attend_layer`. Dropout
    falls on embeddings, between layers and on the features.
    """

    def __init__(
        self,
        vocab_size: int,
        encoder: Shape,
        *,
        cell: Spec[Cell] = Spec(Cell, "gru"),
        width: int = 256,
        embedding: int | None = None,
        layers: int = 1,
        attend: Literal["before", "after"] = "after",
        attend_layer: Literal["top", "bottom"] = "top",
        input_feeding: bool = True,
        attention: Spec[Attention] = Spec(Attention, "additive"),
        initial: Spec[InitialState] = Spec(InitialState, "bridge"),
        readout: Spec[Readout] = Spec(Readout, "tanh"),
        dropout: float = 0.3,
    ) -> None:
        super().__init__()
        check_sizes("decoder", width=width, layers=layers, embedding=embedding)
        check_dropout("decoder", dropout)
        check_feeding(attend, input_feeding)
        embedding = width if embedding is None else embedding
        self.embedding = Embedding(vocab_size, embedding, dropout)
        cells = nn.ModuleList(cell.build(width if layer else embedding, width) for layer in range(layers))
        self.cells = cast("Sequence[Cell]", cells)
        self.attention = attention.build(width, encoder.width)
        self.initial = initial.build(encoder, layers, width, cell.kind.family[cell.name].leaves)
        self.readout = readout.build(width, self.attention.context_width, embedding)
        self.output = nn.Linear(self.readout.width, vocab_size)
        self.dropout = nn.Dropout(dropout)
        self.attend, self.asking = attend, {"top": layers - 1, "bottom": 0}[attend_layer]
        feed = {"before": self.attention.context_width, "after": self.readout.width}[attend]
        self.feed = nn.Linear(feed, self.cells[0].gates * width, bias=False) if input_feeding else None

    def init(self, source: Source, encoded: Encoded) -> tuple[Memory, DecoderState]:
        memory = Memory(self.attention.project(encoded.values, encoded.mask), encoded.mask)
        start: CellState = self.initial(encoded.final)
        cells = tuple(
            cell.start(start.hidden[:, layer], start.cell[:, layer]) for layer, cell in enumerate(self.cells)
        )
        feed = start.hidden.new_zeros(len(encoded.mask), self.feed.in_features if self.feed else 0)
        position = torch.zeros(len(encoded.mask), dtype=torch.long, device=encoded.mask.device)
        attention = flat(self.attention.start(memory.keys, 1))
        return memory, DecoderState(cells, feed, position, attention)

    def step(
        self, memory: Memory, state: DecoderState, token: Int[Tensor, " N"], *, weights: bool = False
    ) -> tuple[DecoderState, Output]:
        embedded, previous = self.embedding(token), state.cells[-1][0]
        state, read = self._advance(memory, state, embedded, self.cells[0].project(embedded))
        features = self._features(read, previous, embedded) if read.features is None else read.features
        seen = read.weights.unsqueeze(1) if weights else None  # [N L=1 H S]
        return state, Output(self._log_probs(features), seen)

    def forward(
        self, source: Source, encoded: Encoded, tokens: Int[Tensor, "B T"], *, weights: bool = False
    ) -> Output:
        memory, state = self.init(source, encoded)
        embedded = self.embedding(tokens)
        at_once = self.feed is None and self.attention.parallel
        read = (self._read_at_once if at_once else self._read_in_turn)(memory, state, embedded)
        features = read.features
        if features is None:
            previous = torch.cat([state.cells[-1][0].unsqueeze(1), read.hidden[:, :-1]], dim=1)
            features = self._features(read, previous, embedded)
        return Output(self._log_probs(features), read.weights.unsqueeze(2) if weights else None)

    def _read_at_once(self, memory: Memory, state: DecoderState, x: Float[Tensor, "B T E"]) -> Read:
        """With nothing fed back, layers run over all positions and attention reads them together."""
        layers = []
        for layer, (cell, start) in enumerate(zip(self.cells, state.cells, strict=True)):
            x, _ = cell.run(self.dropout(x) if layer else x, start)
            layers.append(x)
        position = torch.arange(x.shape[1], device=x.device).expand(len(x), -1)
        attention = unflat(state.attention, len(x))
        context, weights, _ = self.attention(layers[self.asking], *memory, position, attention)
        return Read(x, context, None, weights.transpose(1, 2))

    def _read_in_turn(self, memory: Memory, state: DecoderState, x: Float[Tensor, "B T E"]) -> Read:
        reads = []
        for embedded, inputs in zip(x.unbind(1), self.cells[0].project(x).unbind(1), strict=True):
            state, read = self._advance(memory, state, embedded, inputs)
            reads.append(read)
        hidden, context, features, weights = zip(*reads, strict=True)
        fed = None if features[0] is None else torch.stack(features, dim=1)
        return Read(torch.stack(hidden, dim=1), torch.stack(context, dim=1), fed, torch.stack(weights, dim=1))

    def _advance(
        self,
        memory: Memory,
        state: DecoderState,
        embedded: Float[Tensor, "N E"],
        inputs: Float[Tensor, "N G"],
    ) -> tuple[DecoderState, Read]:
        """One position, given the embedded symbol and its share of the first cell's gates."""
        if self.attend == "before":
            context, weights, attention = self._look(memory, state, state.cells[self.asking][0])
            cells = self._run_cells(self._fed(inputs, context), state.cells)
        else:
            cells = self._run_cells(self._fed(inputs, state.feed), state.cells)
            context, weights, attention = self._look(memory, state, cells[self.asking][0])
        read, feed = Read(cells[-1][0], context, None, weights), state.feed
        if self.attend == "after" and self.feed is not None:
            feed = self._features(read, state.cells[-1][0], embedded)
            read = read._replace(features=feed)
        return DecoderState(cells, feed, state.position + 1, attention), read

    def _fed(self, inputs: Float[Tensor, "N G"], vector: Float[Tensor, "N F"]) -> Float[Tensor, "N G"]:
        """The first cell's gates with the share of what is fed to it."""
        return inputs if self.feed is None else inputs + self.feed(vector)

    def _look(self, memory: Memory, state: DecoderState, query: Float[Tensor, "N D"]) -> Attended:
        """Attends with the K hypotheses of each sentence as K queries of one product."""
        sentences = len(memory.mask)
        context, weights, attention = self.attention(
            query.unflatten(0, (sentences, -1)),
            *memory,
            state.position.unflatten(0, (sentences, -1)),
            unflat(state.attention, sentences),
        )
        return Attended(context.flatten(0, 1), weights.transpose(1, 2).flatten(0, 1), flat(attention))

    def _run_cells(self, inputs: Float[Tensor, "N G"], states: tuple[State, ...]) -> tuple[State, ...]:
        after = []
        for layer, (cell, state) in enumerate(zip(self.cells, states, strict=True)):
            gates = cell.project(self.dropout(after[-1][0])) if layer else inputs
            after.append(cell.step(gates, state))
        return tuple(after)

    def _features(
        self, read: Read, previous: Float[Tensor, "*batch D"], embedded: Float[Tensor, "*batch E"]
    ) -> Float[Tensor, "*batch R"]:
        return self.dropout(self.readout(read.hidden, read.context, previous, embedded))

    def _log_probs(self, features: Float[Tensor, "*batch R"]) -> Float[Tensor, "*batch V"]:
        return self.output(features).log_softmax(dim=-1)


def flat(tree: Any) -> Any:
    """[B Q …] leaves to [N …]."""
    return tree.flatten(0, 1) if isinstance(tree, Tensor) else tuple(flat(leaf) for leaf in tree)


def unflat(tree: Any, sentences: int) -> Any:
    """[N …] leaves to [B Q …]."""
    if isinstance(tree, Tensor):
        return tree.unflatten(0, (sentences, -1))
    return tuple(unflat(leaf, sentences) for leaf in tree)


def check_feeding(attend: str, input_feeding: bool) -> None:
    """Refuses the one pair of options that contradict each other."""
    if attend == "before" and not input_feeding:
        raise ConfigError(
            "decoder: attend 'before' feeds the context to the cell, so input_feeding must be true or left "
            "out; got attend: before, input_feeding: false; use attend: after"
        )
