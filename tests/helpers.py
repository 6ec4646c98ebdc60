"""What tests share: made sources, tiny random models, and recurrences written from the formulas."""

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transduce.config import Component, Spec, options_model, validate
from transduce.model import ModelSettings, Seq2Seq
from transduce.types import PAD, SPECIALS, Source, select

VOCAB = 9
EXACT = {"rtol": 1e-9, "atol": 1e-9}  # for float64


def source(lengths: Sequence[int], width: int | None = None, vocab: int = VOCAB, seed: int = 0) -> Source:
    """Random symbols (no special) in rows of these lengths, padded on the right to `width`."""
    width = max(lengths) if width is None else width
    generator = torch.Generator().manual_seed(seed)
    symbols = torch.randint(SPECIALS, vocab, (len(lengths), max(lengths)), generator=generator)
    tokens = nn.functional.pad(symbols, (0, width - max(lengths)), value=PAD)
    mask = torch.arange(width) < torch.tensor(lengths).unsqueeze(1)
    return Source(tokens.masked_fill(~mask, PAD), mask)


def padded(source: Source, extra: int) -> Source:
    """The same source with more columns of padding."""
    tokens = nn.functional.pad(source.tokens, (0, extra), value=PAD)
    return Source(tokens, nn.functional.pad(source.mask, (0, extra), value=False))


def alone(source: Source, row: int) -> Source:
    """One row by itself, without padding."""
    length = int(source.mask[row].sum())
    return Source(source.tokens[row : row + 1, :length], source.mask[row : row + 1, :length])


def at(tree: Any, *rows: int) -> Any:
    """These batch rows of every tensor in nested tuples."""
    return select(tree, torch.tensor(rows))


def doubled(module: nn.Module, seed: int = 0, scale: float = 2.0) -> Any:
    """The module in float64, in evaluation mode, with sharper random parameters than it came with."""
    generator = torch.Generator().manual_seed(seed)
    module = module.double().eval()
    for parameter in module.parameters():
        drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        parameter.data.mul_(scale).add_(0.1 * drawn.mul_(parameter.data.ne(0)))  # PAD's zeros stay
    return module


def build(encoder: Any, decoder: Any, seed: int = 1, vocab: int = VOCAB) -> Seq2Seq:
    """A small random model, float64, in evaluation mode, from options as YAML holds them."""
    torch.manual_seed(seed)
    settings = validate(ModelSettings, {"encoder": encoder, "decoder": decoder}, "test")
    return doubled(settings.build(vocab, vocab), seed)


def combinations(kind: type[Component], choices: Mapping[str, Iterable[Any]]) -> list[Spec[Any]]:
    """Every component of a family, with every combination of those choices that it has options for."""
    specs = []
    for name, component in kind.family.items():
        known = [key for key in choices if key in options_model(component).model_fields]
        values = itertools.product(*(choices[key] for key in known))
        specs += [Spec(kind, name, dict(zip(known, chosen, strict=True))) for chosen in values]
    return specs


def covering(specs: Sequence[Spec[Any]], strength: int = 3) -> list[Spec[Any]]:
    """A few of these specs in which any `strength` options take together every value they take in all."""

    def groups(spec: Spec[Any]) -> set[tuple[Any, ...]]:
        values = {"name": spec.name, **{key: str(value) for key, value in spec.options.items()}}
        return set(itertools.combinations(values.items(), strength))

    left = {index: groups(spec) for index, spec in enumerate(specs)}
    missing, chosen = set().union(*left.values()), []
    while missing:
        chosen.append(max(left, key=lambda index: len(left[index] & missing)))
        missing -= left.pop(chosen[-1])
    return [specs[index] for index in sorted(chosen)]


def every(kind: type[Component]) -> list[Spec[Any]]:
    """Every component of a family as it comes, by default."""
    return [Spec(kind, name) for name in kind.family]


def label(spec: Spec[Any]) -> str:
    """A test id: the names and values that make a component."""
    parts = [
        value.name if isinstance(value, Spec) else f"{key}={value}" for key, value in spec.options.items()
    ]
    return "-".join([spec.name, *parts])


def numbers(tensor: Tensor) -> np.ndarray:
    return tensor.detach().numpy()


def parameters(module: nn.Module) -> dict[str, np.ndarray]:
    """Every parameter by name, for arithmetic outside torch."""
    return {name: numbers(parameter) for name, parameter in module.named_parameters()}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def plain_gru(p: Mapping[str, np.ndarray], x: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, ...]:
    """r = σ(W_r x + U_r h), z = σ(W_z x + U_z h), n = tanh(W_n x + r ∘ U_n h), h' = (1 - z) ∘ n + z ∘ h."""
    w_r, w_z, w_n = np.split(p["weight_ih_l0"], 3)
    u_r, u_z, u_n = np.split(p["weight_hh_l0"], 3)
    b_r, b_z, b_n = np.split(p["bias_ih_l0"], 3)
    c_r, c_z, c_n = np.split(p["bias_hh_l0"], 3)
    r = sigmoid(x @ w_r.T + b_r + h @ u_r.T + c_r)
    z = sigmoid(x @ w_z.T + b_z + h @ u_z.T + c_z)
    n = np.tanh(x @ w_n.T + b_n + r * (h @ u_n.T + c_n))
    return ((1 - z) * n + z * h,)


def plain_lstm(
    p: Mapping[str, np.ndarray], x: np.ndarray, h: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, ...]:
    """i, f, o = σ(W x + U h), g = tanh(W_g x + U_g h), c' = f ∘ c + i ∘ g, h' = o ∘ tanh(c')."""
    w, u = np.split(p["weight_ih_l0"], 4), np.split(p["weight_hh_l0"], 4)
    b, d = np.split(p["bias_ih_l0"], 4), np.split(p["bias_hh_l0"], 4)
    i, f, g, o = (x @ w[k].T + b[k] + h @ u[k].T + d[k] for k in range(4))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def plain_gru_before(p: Mapping[str, np.ndarray], x: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, ...]:
    """As `plain_gru`, but n = tanh(W_n x + U_n (r ∘ h)), as Cho et al. wrote it."""
    w_r, w_z, w_n = np.split(p["weight_ih_l0"], 3)
    u_r, u_z, u_n = np.split(p["weight_hh_l0"], 3)
    b_r, b_z, b_n = np.split(p["bias_ih_l0"] + p["bias_hh_l0"], 3)
    r = sigmoid(x @ w_r.T + h @ u_r.T + b_r)
    z = sigmoid(x @ w_z.T + h @ u_z.T + b_z)
    n = np.tanh(x @ w_n.T + (r * h) @ u_n.T + b_n)
    return ((1 - z) * n + z * h,)


def plain_tanh(p: Mapping[str, np.ndarray], x: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, ...]:
    bias = p["bias_ih_l0"] + p["bias_hh_l0"]
    return (np.tanh(x @ p["weight_ih_l0"].T + h @ p["weight_hh_l0"].T + bias),)


PLAIN_CELLS = {
    "aftergru": plain_gru,
    "beforegru": plain_gru_before,
    "afterlstm": plain_lstm,
    "aftertanh": plain_tanh,
}
same = functools.partial(torch.testing.assert_close, **EXACT)
