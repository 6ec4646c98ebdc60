"""The recurrent decoder against the papers' equations, written out in numpy."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers import VOCAB, build, numbers, parameters, plain_gru, plain_lstm, same, softmax, source
from transduce.attention import Attended, Attention, Keys
from transduce.attention.base import ScoringAttention
from transduce.attention.normalizers import Normalizer
from transduce.attention.windows import Window
from transduce.config import Spec
from transduce.decoders.recurrent import RecurrentDecoder
from transduce.encoders.recurrent import RecurrentEncoder
from transduce.errors import ConfigError
from transduce.layers.dropout import Dropout
from transduce.model import Seq2Seq
from transduce.types import BOS, Shape, select

LENGTHS = (4, 2)
TOKENS = torch.tensor([[BOS, 5, 4], [BOS, 6, 8]])
ONE_WAY = {"cell": "gru", "width": 5, "embedding": 3, "layers": 1, "bidirectional": False, "dropout": 0.0}

P = dict[str, np.ndarray]


def under(p: P, prefix: str) -> P:
    """The parameters whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in p.items() if name.startswith(prefix)}


def log_softmax(logits: np.ndarray) -> np.ndarray:
    return logits - np.log(np.exp(logits).sum())


def joined(p: P, fed: np.ndarray) -> P:
    """The cell whose input is [embedding; fed]: one matrix where the decoder keeps two."""
    return {**p, "weight_ih_l0": np.concatenate([p["weight_ih_l0"], fed], axis=1)}


def plain_bahdanau(p: P, h: np.ndarray, tokens: list[int], *, tanh: bool) -> tuple[np.ndarray, np.ndarray]:
    """s_0 = tanh(W h_S + b); α from s_{t-1}; s_t = GRU([E y_{t-1}; c_t], s_{t-1}); out of f(s_t, c_t)."""
    s = np.tanh(p["initial.bridges.0.weight"] @ h[-1] + p["initial.bridges.0.bias"])
    cell = joined(under(p, "cells.0.rnn."), p["feed.weight"])
    w, u, v = (p[f"attention.{name}.weight"] for name in ("query", "key", "energy"))
    log_probs, weights = [], []
    for token in tokens:
        alpha = softmax(np.array([v[0] @ np.tanh(w @ s + u @ h_i) for h_i in h]))
        context = alpha @ h
        (s,) = plain_gru(cell, np.concatenate([p["embedding.table.weight"][token], context]), s)
        features = np.concatenate([s, context])
        if tanh:
            features = np.tanh(p["readout.combine.weight"] @ np.concatenate([context, s]))
        log_probs.append(log_softmax(p["output.weight"] @ features + p["output.bias"]))
        weights.append(alpha)
    return np.array(log_probs), np.array(weights)


def plain_luong(
    p: P, h: np.ndarray, start: tuple[np.ndarray, ...], tokens: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """(s_t, m_t) = LSTM([E y_{t-1}; s̃_{t-1}], …); α from s_t; s̃_t = tanh(W_c [c_t; s_t]); out of s̃_t."""
    s, m = start
    cell = joined(under(p, "cells.0.rnn."), p["feed.weight"])
    fed = np.zeros(p["feed.weight"].shape[1])
    log_probs, weights = [], []
    for token in tokens:
        s, m = plain_lstm(cell, np.concatenate([p["embedding.table.weight"][token], fed]), s, m)
        alpha = softmax(h @ s)
        fed = np.tanh(p["readout.combine.weight"] @ np.concatenate([alpha @ h, s]))
        log_probs.append(log_softmax(p["output.weight"] @ fed + p["output.bias"]))
        weights.append(alpha)
    return np.array(log_probs), np.array(weights)


def compare(model: Seq2Seq, row: int, log_probs: np.ndarray, weights: np.ndarray) -> None:
    """One sentence of the model, by `forward` and by `step`, with what was worked out by hand."""
    given, length = source(LENGTHS), LENGTHS[row]
    output = model(given, TOKENS, weights=True)
    np.testing.assert_allclose(numbers(output.log_probs)[row], log_probs, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(numbers(output.weights)[row, :, 0, 0, :length], weights, rtol=1e-9, atol=1e-9)
    memory, state = model.start(given)
    for t in range(TOKENS.shape[1]):
        state, output = model.step(memory, state, TOKENS[:, t])
        np.testing.assert_allclose(numbers(output.log_probs)[row], log_probs[t], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("readout", ["tanh", "linear"])
def test_attend_before_is_bahdanaus_step(readout: str) -> None:
    model = build(
        ONE_WAY,
        {
            "width": 4,
            "embedding": 3,
            "attend": "before",
            "attention": {"name": "additive", "units": 6},
            "readout": readout,
        },
    )
    encoded = model.encoder(source(LENGTHS))
    p = parameters(model.decoder)
    for row, length in enumerate(LENGTHS):
        h = numbers(encoded.values)[row, :length]
        compare(model, row, *plain_bahdanau(p, h, TOKENS[row].tolist(), tanh=readout == "tanh"))


def test_attend_after_with_input_feeding_is_luongs_step() -> None:
    decoder = {
        "cell": "lstm",
        "width": 5,
        "embedding": 3,
        "attend": "after",
        "attention": "dot",
        "initial": "copy",
    }
    model = build({**ONE_WAY, "cell": "lstm"}, decoder)
    encoded = model.encoder(source(LENGTHS))
    p = parameters(model.decoder)
    for row, length in enumerate(LENGTHS):
        h = numbers(encoded.values)[row, :length]
        start = tuple(numbers(leaf)[row, 0] for leaf in encoded.final)
        compare(model, row, *plain_luong(p, h, start, TOKENS[row].tolist()))


@pytest.mark.parametrize("attend", ["before", "after"])
def test_in_a_stack_the_query_is_the_top_layer(attend: str) -> None:
    """Two LSTM layers that start as the encoder's: the second reads the first, and looks at the source."""
    options = {"attend": attend, "input_feeding": attend == "before", "attention": "dot", "initial": "copy"}
    decoder = {"cell": "lstm", "layers": 2, "width": 5, "embedding": 3, **options}
    model = build({**ONE_WAY, "cell": "lstm", "layers": 2}, decoder)
    encoded, p = model.encoder(source(LENGTHS)), parameters(model.decoder)
    first, second = under(p, "cells.0.rnn."), under(p, "cells.1.rnn.")
    if attend == "before":
        first = joined(first, p["feed.weight"])
    for row, length in enumerate(LENGTHS):
        h, log_probs, weights = numbers(encoded.values)[row, :length], [], []
        below, top = (tuple(numbers(leaf)[row, layer] for leaf in encoded.final) for layer in (0, 1))
        for token in TOKENS[row].tolist():
            x, alpha = p["embedding.table.weight"][token], softmax(h @ top[0])
            below = plain_lstm(first, np.concatenate([x, alpha @ h]) if attend == "before" else x, *below)
            top = plain_lstm(second, below[0], *top)
            alpha = softmax(h @ top[0]) if attend == "after" else alpha
            features = np.tanh(p["readout.combine.weight"] @ np.concatenate([alpha @ h, top[0]]))
            log_probs.append(log_softmax(p["output.weight"] @ features + p["output.bias"]))
            weights.append(alpha)
        compare(model, row, np.array(log_probs), np.array(weights))


class Memoirs(ScoringAttention):
    """Prefers its own position to what it has seen before, which is its state: so it must go in turn."""

    parallel = False

    def __init__(self, query_width: int, memory_width: int) -> None:
        super().__init__(query_width, memory_width, Spec(Window, "global"), Spec(Normalizer, "softmax"))

    def keys(self, values: Tensor, mask: Tensor) -> Keys:
        return Keys(values.unsqueeze(1), values.unsqueeze(1))

    def score(self, query: Tensor, keys: Keys) -> Tensor:
        return query.unsqueeze(1) @ keys.key.mT

    def start(self, keys: Keys, queries: int) -> Any:
        return (keys.key.new_zeros(len(keys.key), queries, keys.key.shape[2]), ())

    def forward(self, query: Tensor, keys: Keys, mask: Tensor, position: Tensor, state: Any) -> Attended:
        seen, _ = state
        place = torch.arange(mask.shape[1]) == position.unsqueeze(-1)  # [B Q S]
        scores = self.score(query, keys) + (2 * place - 3 * seen).unsqueeze(1)
        weights = self.normalizer(scores, mask[:, None, None])
        return Attended((weights @ keys.value).flatten(1, 2), weights, (seen + weights[:, 0], ()))


@pytest.mark.parametrize("attend", ["before", "after"])
def test_an_attentions_own_state_goes_with_its_hypothesis(
    attend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Attention.family, "memoirs", Memoirs)
    encoder = RecurrentEncoder(VOCAB, width=2, embedding=3, dropout=0.0)
    options = {"attend": attend, "input_feeding": attend == "before", "dropout": 0.0, "embedding": 3}
    decoder = RecurrentDecoder(VOCAB, encoder.shape, width=4, attention=Spec(Attention, "memoirs"), **options)
    model, given = Seq2Seq(encoder, decoder).double().eval(), source((4, 2))
    whole = model(given, TOKENS, weights=True)
    assert whole.weights[0, :, 0, 0].argmax(dim=-1).unique().numel() > 1  # it does look elsewhere
    memory, state = model.start(given)
    state = select(state, torch.tensor([0, 0, 1, 1]))
    tokens = torch.stack([TOKENS[0], TOKENS[0].roll(1), TOKENS[1].roll(1), TOKENS[1]])
    for t in range(3):
        state, output = model.step(memory, state, tokens[:, t], weights=True)
        same(output.log_probs[[0, 3]], whole.log_probs[:, t])
        same(output.weights[[0, 3]], whole.weights[:, t])
    crossed = model.step(memory, select(state, torch.tensor([1, 0, 2, 3])), tokens[[1, 0, 2, 3], 0])[1]
    same(crossed.log_probs, model.step(memory, state, tokens[:, 0])[1].log_probs[[1, 0, 2, 3]])


@pytest.mark.parametrize(
    ("options", "calls"),
    [
        ({"attend": "after", "input_feeding": False}, 1),
        ({"attend": "after", "input_feeding": True}, 3),
        ({"attend": "before"}, 3),
    ],
)
def test_with_nothing_fed_back_all_positions_are_read_at_once(options: dict[str, Any], calls: int) -> None:
    model, seen = build(ONE_WAY, {"width": 5, "attention": "dot", **options}), []
    model.decoder.attention.register_forward_hook(lambda *_: seen.append(1))
    model(source(LENGTHS), TOKENS)
    assert len(seen) == calls


@pytest.mark.parametrize(
    "options", [{"attend": "before"}, {"attend": "after"}, {"attend": "after", "input_feeding": False}]
)
def test_the_output_layer_runs_once_for_all_positions(options: dict[str, Any]) -> None:
    model, seen = build(ONE_WAY, {"width": 5, **options}), []
    for part in (model.decoder.output, model.decoder.embedding):
        part.register_forward_hook(lambda *_: seen.append(1))
    model(source(LENGTHS), TOKENS)
    assert len(seen) == 2


def test_a_gnmt_decoder_is_the_papers() -> None:
    """Wu et al. 2016, eqs. 4–8: α from the bottom layer's last output, its context given to every layer,

    and layers from the third on add what they were given: x_i = h_i + x_{i-1}.
    """
    decoder = {"cell": "lstm", "layers": 4, "width": 5, "embedding": 3, "initial": "copy", "dropout": 0.0}
    decoder |= {"attend": "before", "attend_layer": "bottom", "feed_layers": "all", "residual_from": 3}
    decoder |= {"attention": "dot", "readout": "linear"}
    model = build({**ONE_WAY, "cell": "lstm", "layers": 4}, decoder)
    encoded, p = model.encoder(source(LENGTHS)), parameters(model.decoder)
    feeds = [p["feed.weight"], *(p[f"feed_above.{layer}.weight"] for layer in range(3))]
    cells = [joined(under(p, f"cells.{layer}.rnn."), fed) for layer, fed in enumerate(feeds)]
    for row, length in enumerate(LENGTHS):
        h, log_probs, weights = numbers(encoded.values)[row, :length], [], []
        states = [tuple(numbers(leaf)[row, layer] for leaf in encoded.final) for layer in range(4)]
        for token in TOKENS[row].tolist():
            alpha = softmax(h @ states[0][0])
            context, given = alpha @ h, p["embedding.table.weight"][token]
            for layer, cell in enumerate(cells):
                states[layer] = plain_lstm(cell, np.concatenate([given, context]), *states[layer])
                given = states[layer][0] + (given if layer >= 2 else 0)
            features = np.concatenate([given, context])
            log_probs.append(log_softmax(p["output.weight"] @ features + p["output.bias"]))
            weights.append(alpha)
        compare(model, row, np.array(log_probs), np.array(weights))


def test_without_attention_every_step_reads_the_final_state_of_both_directions() -> None:
    model = build({**ONE_WAY, "bidirectional": True}, {"width": 4, "embedding": 3, "attention": "none"})
    given = source(LENGTHS)
    encoded = model.encoder(given)
    memory, _ = model.decoder.init(given, encoded)
    query, position = torch.zeros(2, 1, 4, dtype=torch.float64), torch.zeros(2, 1, dtype=torch.long)
    context = model.decoder.attention(query, *memory, position, ()).context
    same(context[:, 0], encoded.final.hidden[:, -1])


def test_a_tied_output_layer_is_the_embedding_table() -> None:
    model = build(ONE_WAY, {"width": 5, "embedding": 5, "tied": True})
    table = model.decoder.embedding.table.weight
    assert model.decoder.output.weight is table
    model(source(LENGTHS), TOKENS).log_probs[..., 7].sum().backward()
    assert table.grad[7].abs().sum() > 0  # as what is written
    assert table.grad[[5, 6]].abs().sum() > 0  # and as what was read
    fresh = RecurrentDecoder(400, Shape(6, 6, 1, 2), width=100, tied=True)
    assert fresh.output.weight.std().item() == pytest.approx(0.1, rel=0.05)  # 1/√width: logits near 1
    assert fresh.output.weight[0].eq(0).all()


def test_variational_dropout_is_the_same_in_steps_and_at_once() -> None:
    options = {"width": 5, "layers": 2, "dropout": 0.5, "variational": True, "embedding_dropout": 0.3}
    model = build({**ONE_WAY}, {**options, "attend": "after", "input_feeding": False}).train()
    given = source(LENGTHS)
    torch.manual_seed(4)
    whole = model(given, TOKENS).log_probs
    torch.manual_seed(4)
    memory, state = model.start(given)
    for t in range(3):
        state, output = model.step(memory, state, TOKENS[:, t])
        same(output.log_probs, whole[:, t])
    assert not model(given, TOKENS).log_probs.allclose(whole)


@pytest.mark.parametrize(("above", "below"), [("gru", "lstm"), ("lstm", "gru")])
@pytest.mark.parametrize("initial", ["zero", "copy", "bridge"])
def test_encoder_and_decoder_may_have_different_cells(above: str, below: str, initial: str) -> None:
    model = build({**ONE_WAY, "cell": below}, {"cell": above, "width": 5, "initial": initial})
    given = source(LENGTHS)
    whole = model(given, TOKENS).log_probs
    assert whole.isfinite().all()
    memory, state = model.start(given)
    same(model.step(memory, state, TOKENS[:, 0])[1].log_probs, whole[:, 0])


@pytest.mark.parametrize(
    "options", [{"attend": "before"}, {"attend": "after"}, {"attend": "after", "input_feeding": False}]
)
def test_dropout_falls_in_training_only(options: dict[str, Any]) -> None:
    model, given = build(ONE_WAY, {"width": 5, "layers": 2, "dropout": 0.5, **options}), source(LENGTHS)
    same(model(given, TOKENS).log_probs, model(given, TOKENS).log_probs)
    dropouts = [module for module in model.decoder.modules() if isinstance(module, Dropout)]
    assert len(dropouts) == 2  # of the embeddings; between layers and of the features
    for dropout in dropouts:
        dropout.train()
        assert not model(given, TOKENS).log_probs.allclose(model(given, TOKENS).log_probs)
        dropout.eval()


@pytest.mark.parametrize(
    "options", [{"attend": "before"}, {"attend": "after"}, {"attend": "after", "input_feeding": False}]
)
def test_dropout_falls_between_layers_and_on_the_features(options: dict[str, Any]) -> None:
    model, given, seen = build(ONE_WAY, {"width": 5, "layers": 3, **options}), source(LENGTHS), []
    model.decoder.dropout.register_forward_hook(lambda *_: seen.append(1))
    memory, state = model.start(given)
    model.step(memory, state, TOKENS[:, 0])
    assert len(seen) == 2 + 1
    seen.clear()
    model(given, TOKENS[:, :1])
    assert len(seen) == 2 + 1


def test_target_ids_past_the_vocabulary_read_as_unk() -> None:
    model, given = build(ONE_WAY, {"width": 5}), source(LENGTHS)
    beyond, unknown = TOKENS.clone(), TOKENS.clone()
    beyond[:, 1], unknown[:, 1] = VOCAB + 7, 1
    same(model(given, beyond).log_probs, model(given, unknown).log_probs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attend": "before", "input_feeding": False}, "got attend: before, input_feeding: false"),
        ({"width": 0}, r"decoder\.width: expected at least 1; got 0"),
        ({"layers": 0}, r"decoder\.layers: expected at least 1; got 0"),
        ({"embedding": 0}, r"decoder\.embedding: expected at least 1; got 0"),
        ({"dropout": 1.0}, r"decoder\.dropout: expected at least 0 and below 1; got 1\.0"),
        ({"dropout": math.nan}, r"decoder\.dropout: expected at least 0 and below 1; got nan"),
        ({"width": 7, "attention": Spec(Attention, "dot")}, "decoder width 7 and encoder width 6"),
        ({"width": 6, "attention": Spec(Attention, "multihead", {"heads": 4})}, "got width 6 and heads 4"),
        ({"tied": True, "embedding": 5, "width": 6}, "got readout width 6 and embedding 5"),
        ({"embedding_dropout": -1.0}, r"decoder\.embedding_dropout: expected at least 0 .*; got -1\.0"),
        ({"residual_from": 2}, r"decoder\.residual_from: expected a layer from 2 to layers, 1; got 2"),
    ],
)
def test_options_that_cannot_work_are_refused_naming_both(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RecurrentDecoder(VOCAB, Shape(6, 6, 1, 2), **options)
