"""The laws every decoder keeps: the first with any three options together, the rest with any two.

Encoder and decoder have equal widths, layers and cells here, so that only options that contradict
each other are refused, and those are named.
"""

import functools
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.helpers import (
    EXACT,
    VOCAB,
    alone,
    at,
    combinations,
    covering,
    doubled,
    every,
    label,
    padded,
    same,
    source,
)
from transduce.attention import Attention
from transduce.attention.windows import Window
from transduce.config import Spec
from transduce.decoders import Decoder
from transduce.encoders.recurrent import RecurrentEncoder
from transduce.errors import ConfigError
from transduce.layers.cells import Cell
from transduce.layers.initial_states import InitialState
from transduce.layers.readouts import Readout
from transduce.model import Seq2Seq
from transduce.training.loss import cross_entropy
from transduce.types import BOS, EOS, PAD, Output, select

LENGTHS = (3, 1, 4)
B, K, T, S = 3, 2, 4, 4
WIDTH = 4
ALL = combinations(
    Decoder,
    {
        "attention": combinations(Attention, {"units": [3], "heads": [2]}),
        "cell": every(Cell),
        "attend": ["before", "after"],
        "attend_layer": ["top", "bottom"],
        "input_feeding": [True, False],
        "readout": combinations(Readout, {"units": [3]}),
        "initial": every(InitialState),
        "layers": [1, 2],
        "width": [WIDTH],
        "embedding": [3],
        "dropout": [0.0],
    },
)


def legal(spec: Spec[Decoder]) -> bool:
    attend, feeding, readout = (spec.options[key] for key in ("attend", "input_feeding", "readout"))
    return (attend, feeding) != ("before", False) and (attend, readout.name) != ("after", "state")


SPECS = [spec for spec in ALL if legal(spec)]

STACKS = combinations(
    Decoder,
    {
        "attention": [Spec(Attention, "additive", {"units": 3}), Spec(Attention, "none")],
        "cell": every(Cell),
        "attend": ["before", "after"],
        "attend_layer": ["top", "bottom"],
        "feed_layers": ["first", "all"],
        "readout": [Spec(Readout, "tanh"), Spec(Readout, "maxout", {"units": WIDTH})],
        "tied": [False, True],
        "residual_from": [None, 2, 3],
        "layer_norm": [False, True],
        "layers": [3],
        "width": [WIDTH],
        "embedding": [WIDTH],
        "dropout": [0.0],
    },
)

every_decoder = pytest.mark.parametrize("spec", covering(SPECS) + covering(STACKS), ids=label)
most_decoders = pytest.mark.parametrize("spec", covering(SPECS, 2) + covering(STACKS, 2), ids=label)

WINDOWS = combinations(Window, {"radius": [2]})
ATTENTIONS = combinations(
    Attention,
    {"units": [3], "heads": [2], "max_source_length": [9], "window": WINDOWS},
)
GRU = [Spec(Cell, "gru", {"reset": reset}) for reset in ("before", "after")]
GRID = combinations(
    Decoder,
    {
        "attention": ATTENTIONS,
        "cell": [*GRU, *(spec for spec in every(Cell) if spec.name != "gru")],
        "attend": ["before", "after"],
        "width": [WIDTH],
        "embedding": [3],
        "dropout": [0.0],
    },
)


def alone_of_windows(spec: Spec[Decoder]) -> bool:
    """Whether it is location attention with a window, the one pair of these that contradicts."""
    attention = spec.options["attention"]
    return attention.name == "location" and attention.options.get("window", WINDOWS[0]).name != "global"


def make(spec: Spec[Decoder]) -> Seq2Seq:
    torch.manual_seed(0)
    cell, layers = (
        spec.options.get(key, default) for key, default in (("cell", Spec(Cell, "gru")), ("layers", 1))
    )
    both = spec.options.get("initial") != Spec(InitialState, "copy")  # which takes one direction alone
    sizes = {"layers": layers, "width": WIDTH // (1 + both), "embedding": 3, "dropout": 0.0}
    encoder = RecurrentEncoder(VOCAB, cell=cell, bidirectional=both, **sizes)
    return doubled(Seq2Seq(encoder, spec.build(VOCAB, encoder.shape)))


@functools.cache
def prefixes(rows: int = B) -> Tensor:
    tokens = torch.randint(EOS, VOCAB, (rows, T), generator=torch.Generator().manual_seed(7))
    tokens[:, 0] = BOS
    return tokens


def steps(model: Seq2Seq, memory: Any, state: Any, tokens: Tensor, *, weights: bool) -> tuple[Any, Output]:
    """Reads prefixes token by token; gives the last state and the outputs stacked as `forward` does."""
    log_probs, seen = [], []
    for token in tokens.unbind(dim=1):
        state, output = model.step(memory, state, token, weights=weights)
        log_probs.append(output.log_probs)
        seen.append(output.weights)
    return state, Output(torch.stack(log_probs, dim=1), torch.stack(seen, dim=1) if weights else None)


def beams(model: Seq2Seq) -> tuple[Any, Any, Tensor]:
    """Memory of B sentences, the state of K different hypotheses of each, and a next token for them."""
    memory, state = model.start(source(LENGTHS))
    state = select(state, torch.arange(B).repeat_interleave(K))
    tokens = prefixes(B * K)
    state, _ = steps(model, memory, state, tokens[:, :2], weights=False)
    return memory, state, tokens[:, 2]


def test_only_the_known_pairs_of_options_contradict() -> None:
    assert len(SPECS) >= 100
    for spec in covering([spec for spec in ALL if not legal(spec)], 2):
        with pytest.raises(
            ConfigError, match=r"attend: (before, input_feeding: false|after, readout: state)"
        ):
            make(spec)


@every_decoder
def test_forward_equals_steps(spec: Spec[Decoder]) -> None:
    model, given = make(spec), source(LENGTHS)
    whole = model(given, prefixes(), weights=True)
    _, turns = steps(model, *model.start(given), prefixes(), weights=True)
    heads = whole.weights.shape[3]
    assert whole.log_probs.shape == (B, T, VOCAB)
    assert whole.weights.shape == (B, T, 1, heads, S)
    same(turns.log_probs, whole.log_probs)
    same(turns.weights, whole.weights)


@pytest.mark.usefixtures("unchecked")  # for speed: everything here is checked elsewhere
def test_every_attention_window_cell_and_way_to_attend_that_is_legal() -> None:
    """The whole grid: forward equals steps, weights lie on real tokens, and padding changes nothing."""
    given, tokens, made = source(LENGTHS), prefixes(), 0
    for spec in GRID:
        if alone_of_windows(spec):
            with pytest.raises(ConfigError, match="location"):
                make(spec)
            continue
        model = make(spec)
        whole = model(given, tokens, weights=True)
        _, turns = steps(model, *model.start(given), tokens, weights=True)
        after = model(padded(given, 2), tokens, weights=True)
        for found in (turns, after._replace(weights=after.weights[..., :S])):
            torch.testing.assert_close(
                tuple(found), tuple(whole), **EXACT, msg=lambda m, s=spec: f"{label(s)}: {m}"
            )
        assert whole.weights[~given.mask[:, None, None, None].expand_as(whole.weights)].eq(0).all()
        assert whole.weights.sum(dim=-1).le(1 + 1e-9).all()
        made += 1
    assert made >= 8 * 4 * 2


@most_decoders
def test_rows_are_normalised_and_weights_lie_on_real_tokens(spec: Spec[Decoder]) -> None:
    given = source(LENGTHS)
    log_probs, weights = make(spec)(given, prefixes(), weights=True)
    same(log_probs.logsumexp(dim=-1), torch.zeros(B, T, dtype=torch.float64))
    same(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))
    assert weights[~given.mask[:, None, None, None].expand_as(weights)].eq(0).all()
    assert log_probs[0, 0].std() > 1e-3
    assert not log_probs[:, 1].allclose(log_probs[:, 2])


@most_decoders
def test_weights_are_none_unless_asked_for(spec: Spec[Decoder]) -> None:
    model, given = make(spec), source(LENGTHS)
    assert model(given, prefixes()).weights is None
    memory, state = model.start(given)
    assert model.step(memory, state, prefixes()[:, 0])[1].weights is None
    assert model.step(memory, state, prefixes()[:, 0], weights=True)[1].weights.shape[0] == B


@most_decoders
def test_a_step_commutes_with_select(spec: Spec[Decoder]) -> None:
    model = make(spec)
    memory, state, token = beams(model)
    after = model.step(memory, state, token, weights=True)
    parents = torch.tensor([1, 0, 2, 2, 5, 4])  # within each sentence
    moved = model.step(memory, select(state, parents), token[parents], weights=True)
    same(moved, select(after, parents))
    sentences, rows = torch.tensor([2, 0]), torch.tensor([4, 5, 0, 1])
    fewer = model.step(select(memory, sentences), select(state, rows), token[rows], weights=True)
    same(fewer, select(after, rows))


@most_decoders
def test_beams_that_share_memory_equal_sentences_alone(spec: Spec[Decoder]) -> None:
    model = make(spec)
    memory, state, token = beams(model)
    after = model.step(memory, state, token, weights=True)
    for row in range(B * K):
        lone = model.step(at(memory, row // K), at(state, row), token[row : row + 1], weights=True)
        same(lone, at(after, row))


@most_decoders
def test_neither_padding_nor_neighbours_change_anything(spec: Spec[Decoder]) -> None:
    model, given, tokens = make(spec), source(LENGTHS), prefixes()
    before = model(given, tokens, weights=True)
    after = model(padded(given, 3), torch.nn.functional.pad(tokens, (0, 2), value=PAD), weights=True)
    same(after.log_probs[:, :T], before.log_probs)
    same(after.weights[:, :T, ..., :S], before.weights)
    assert after.weights[..., S:].eq(0).all()
    for row, length in enumerate(LENGTHS):
        lone = model(alone(given, row), tokens[row : row + 1, : T - row], weights=True)
        same(lone.log_probs, before.log_probs[row : row + 1, : T - row])
        same(lone.weights, before.weights[row : row + 1, : T - row, ..., :length])


@most_decoders
def test_every_parameter_gets_a_finite_gradient_and_a_step_helps(spec: Spec[Decoder]) -> None:
    model, given, tokens = make(spec).train(), source(LENGTHS), prefixes()
    target = torch.cat([tokens[:, 1:], torch.full((B, 1), EOS)], dim=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def loss() -> Tensor:
        return cross_entropy(model(given, tokens).log_probs, target, torch.ones(B, T, dtype=torch.bool)).total

    before = loss()
    before.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        unfelt = name.endswith("attention.key.bias")  # a shift of all scores, which no softmax feels
        if not unfelt and spec.options["attention"].name != "none":  # which reads one encoder state alone
            assert parameter.grad.ne(0).any(), name
    optimizer.step()
    assert loss() < before
    for embedding in (model.encoder.embedding, model.decoder.embedding):
        tied = embedding.table.weight is model.decoder.output.weight  # whose rows learn what not to write
        assert tied or embedding.table.weight[PAD].eq(0).all()
