"""The recurrent decoder with attention."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transduce.attention import Attended, Attention, Keys
from transduce.config import Spec
from transduce.decoders.base import Decoder
from transduce.errors import ConfigError
from transduce.layers.cells import Cell, State
from transduce.layers.checks import check_dropout, check_sizes
from transduce.layers.dropout import Dropout
from transduce.layers.embedding import Embedding
from transduce.layers.embedding import Masks as EmbeddingMasks
from transduce.layers.initial_states import InitialState
from transduce.layers.readouts import Readout
from transduce.layers.stacking import Stacking
from transduce.types import CellState, Encoded, Output, Shape, Source


class Memory(NamedTuple):
    """A sentence ready to be attended to; B rows."""

    keys: Keys
    mask: Bool[Tensor, "B S"]


class Masks(NamedTuple):
    """What a sentence drops at all its positions, N rows; None for what is dropped anew at each."""

    embedding: EmbeddingMasks
    layers: tuple[Float[Tensor, "N D"] | None, ...]
    features: Float[Tensor, "N R"] | None


class DecoderState(NamedTuple):
    """What changes with each token, and with the beam; N rows."""

    cells: tuple[State, ...]
    feed: Float[Tensor, "N F"]
    position: Int[Tensor, " N"]
    attention: Any
    masks: Masks


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
    output layer reads to the next cell. In a stack the query is what the `attend_layer` passes on, and
    `feed_layers` says which layers are fed (all: Wu et al. 2016). `tied` makes the embedding table the
    output layer too (Press and Wolf 2017, arXiv:1608.05859). Dropout falls on embeddings, between layers
    and on the features; the other options are those of `Stacking`, `Embedding` and `Dropout`.
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
        feed_layers: Literal["first", "all"] = "first",
        attention: Spec[Attention] = Spec(Attention, "additive"),
        initial: Spec[InitialState] = Spec(InitialState, "bridge"),
        readout: Spec[Readout] = Spec(Readout, "tanh"),
        tied: bool = False,
        residual_from: int | None = None,
        layer_norm: bool = False,
        dropout: float = 0.3,
        variational: bool = False,
        embedding_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_sizes("decoder", width=width, layers=layers, embedding=embedding)
        check_dropout("decoder", dropout=dropout, embedding_dropout=embedding_dropout)
        check_feeding(attend, input_feeding, readout)
        embedding = width if embedding is None else embedding
        self.embedding = Embedding(vocab_size, embedding, dropout, variational, embedding_dropout)
        self.cells: Sequence[Cell] = stacked(cell, [embedding, *[width] * (layers - 1)], width)
        self.stacking = Stacking("decoder", [width] * layers, residual_from, layer_norm)
        self.attention = attention.build(width, encoder.width)
        self.initial = initial.build(encoder, layers, width, cell.kind.family[cell.name].leaves)
        self.readout = readout.build(width, self.attention.context_width, embedding)
        self.output = output_layer(self.readout.width, self.embedding, tied=tied)
        self.dropout = Dropout(dropout, variational=variational)
        self.attend, self.attends = attend, self.attention.attends
        self.asking = {"top": layers - 1, "bottom": 0}[attend_layer]
        fed = {"before": self.attention.context_width, "after": self.readout.width}[attend]
        self.feed, self.feed_above = self._feeds(fed, {"first": 1, "all": layers}[feed_layers], input_feeding)

    def _feeds(self, fed: int, layers: int, input_feeding: bool) -> tuple[nn.Linear | None, nn.ModuleList]:
        """What feeds the first layer, if anything does, and those above it."""
        gates = self.cells[0].gates * self.cells[0].rnn.hidden_size
        feeds = [nn.Linear(fed, gates, bias=False) for _ in range(layers if input_feeding else 0)]
        return (feeds[0] if feeds else None), nn.ModuleList(feeds[1:])

    def init(self, source: Source, encoded: Encoded) -> tuple[Memory, DecoderState]:
        final = encoded.final.hidden[:, -1]
        memory = Memory(self.attention.project(encoded.values, encoded.mask, final), encoded.mask)
        start: CellState = self.initial(encoded.final)
        cells = tuple(
            cell.start(start.hidden[:, layer], start.cell[:, layer]) for layer, cell in enumerate(self.cells)
        )
        feed = start.hidden.new_zeros(len(encoded.mask), self.feed.in_features if self.feed else 0)
        position = torch.zeros(len(encoded.mask), dtype=torch.long, device=encoded.mask.device)
        attention = flat(self.attention.start(memory.keys, 1))
        return memory, DecoderState(cells, feed, position, attention, self._masks(start.hidden))

    def _masks(self, like: Float[Tensor, "N L D"]) -> Masks:
        rows, width = len(like), like.shape[-1]
        layers = tuple(self.dropout.mask(like, rows, width) for _ in self.cells[1:])
        features = self.dropout.mask(like, rows, self.readout.width)
        return Masks(self.embedding.masks(rows), layers, features)

    def step(
        self, memory: Memory, state: DecoderState, token: Int[Tensor, " N"], *, weights: bool = False
    ) -> tuple[DecoderState, Output]:
        embedded, before = self.embedding(token, state.masks.embedding), state
        state, read = self._advance(memory, state, embedded, self.cells[0].project(embedded))
        features = self._features(before, read, embedded) if read.features is None else read.features
        seen = read.weights.unsqueeze(1) if weights else None  # [N L=1 H S]
        return state, Output(self._log_probs(features), seen)

    def forward(
        self, source: Source, encoded: Encoded, tokens: Int[Tensor, "B T"], *, weights: bool = False
    ) -> Output:
        memory, state = self.init(source, encoded)
        embedded = self.embedding(tokens, state.masks.embedding)
        at_once = self.feed is None and self.attention.parallel
        read = (self._read_at_once if at_once else self._read_in_turn)(memory, state, embedded)
        features = read.features
        if features is None:
            first = self._passed_on(state)[-1].unsqueeze(1)
            previous = torch.cat([first, read.hidden[:, :-1]], dim=1)
            features = self._read_out(state, read, previous, embedded)
        return Output(self._log_probs(features), read.weights.unsqueeze(2) if weights else None)

    def _read_at_once(self, memory: Memory, state: DecoderState, x: Float[Tensor, "B T E"]) -> Read:
        """With nothing fed back, layers run over all positions and attention reads them together."""
        passed = []
        for layer, (cell, start) in enumerate(zip(self.cells, state.cells, strict=True)):
            given = self.dropout(x, state.masks.layers[layer - 1]) if layer else x
            x = self.stacking(layer, cell.run(given, start)[0], x)
            passed.append(x)
        position = torch.arange(x.shape[1], device=x.device).expand(len(x), -1)
        attention = unflat(state.attention, len(x))
        context, weights, _ = self.attention(passed[self.asking], *memory, position, attention)
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
            context, weights, attention = self._look(memory, state, self._passed_on(state)[self.asking])
            cells, passed = self._run_cells(inputs, context, state)
        else:
            cells, passed = self._run_cells(inputs, state.feed, state)
            context, weights, attention = self._look(memory, state, passed[self.asking])
        read, feed = Read(passed[-1], context, None, weights), state.feed
        if self.attend == "after" and self.feed is not None:
            feed = self._features(state, read, embedded)
            read = read._replace(features=feed)
        return DecoderState(cells, feed, state.position + 1, attention, state.masks), read

    def _passed_on(self, state: DecoderState) -> list[Float[Tensor, "N D"]]:
        """What each layer gave at the position before."""
        return self.stacking.climb([cell[0] for cell in state.cells])

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

    def _run_cells(
        self, inputs: Float[Tensor, "N G"], fed: Float[Tensor, "N F"], state: DecoderState
    ) -> tuple[tuple[State, ...], list[Float[Tensor, "N D"]]]:
        """The layers' next states, and what they pass on; the first layer's input is projected already."""
        after, passed = [], []
        for layer, (cell, before) in enumerate(zip(self.cells, state.cells, strict=True)):
            if layer:
                inputs = cell.project(self.dropout(passed[-1], state.masks.layers[layer - 1]))
            after.append(cell.step(self._with_feed(layer, inputs, fed), before))
            hidden = after[-1][0]
            passed.append(self.stacking(layer, hidden, passed[-1] if layer else hidden))
        return tuple(after), passed

    def _with_feed(
        self, layer: int, inputs: Float[Tensor, "N G"], fed: Float[Tensor, "N F"]
    ) -> Float[Tensor, "N G"]:
        """A layer's gates with the share of what is fed to it."""
        feeds = [*filter(None, [self.feed]), *self.feed_above]
        return inputs + feeds[layer](fed) if layer < len(feeds) else inputs

    def _features(
        self, before: DecoderState, read: Read, embedded: Float[Tensor, "N E"]
    ) -> Float[Tensor, "N R"]:
        """What the output layer reads after one position; `before` is the state that it started from."""
        return self._read_out(before, read, self._passed_on(before)[-1], embedded)

    def _read_out(
        self,
        state: DecoderState,
        read: Read,
        previous: Float[Tensor, "*batch D"],
        embedded: Float[Tensor, "*batch E"],
    ) -> Float[Tensor, "*batch R"]:
        features = self.readout(read.hidden, read.context, previous, embedded)
        return self.dropout(features, state.masks.features)

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


def stacked(cell: Spec[Cell], inputs: Sequence[int], width: int) -> Any:
    """The cells of a stack, each given so many features: a `ModuleList`, used as a sequence of cells."""
    return nn.ModuleList(cell.build(size, width) for size in inputs)


def check_feeding(attend: str, input_feeding: bool, readout: Spec[Readout]) -> None:
    """Refuses options that contradict each other, and an output that no context could reach."""
    if attend == "before" and not input_feeding:
        raise ConfigError(
            "decoder: attend 'before' feeds the context to the cell, so input_feeding must be true or left "
            "out; got attend: before, input_feeding: false; use attend: after"
        )
    if attend == "after" and not readout.kind.family[readout.name].reads_context:
        raise ConfigError(
            f"decoder: readout {readout.name!r} reads no context, so attend must be before, which feeds it "
            f"to the layers; got attend: after, readout: {readout.name}"
        )


def output_layer(features: int, embedding: Embedding, *, tied: bool) -> nn.Linear:
    """From features to the vocabulary; if tied, by the embedding table."""
    output = nn.Linear(features, embedding.vocab_size)
    if not tied:
        return output
    if features != embedding.width:
        raise ConfigError(
            f"decoder: tied needs features as wide as the embedding; got readout width {features} "
            f"and embedding {embedding.width}; set model.decoder.embedding, or readout: tanh"
        )
    embedding.start_small()
    output.weight = embedding.table.weight
    return output
