"""Int8: products against plain integer arithmetic, whole models against themselves in floating point."""

import copy
import math
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.helpers import build, combinations, label, numbers, same, source
from tests.translators import KINDS, lines, make
from transduce import quantisation
from transduce.attention import Attention
from transduce.config import Spec
from transduce.errors import ConfigError
from transduce.layers.cells import Cell
from transduce.quantisation import Int8Linear, quantise
from transduce.types import BOS

SHAPES = [(1, 1, 1), (1, 1, 3), (3, 1, 5), (1, 7, 1), (5, 33, 17), (64, 256, 96), (0, 8, 4)]
CELLS = [Spec(Cell, name) for name in Cell.family] + [Spec(Cell, "gru", {"reset": "before"})]
UNITS = {"units": [16], "heads": [2], "scaled": [True], "max_source_length": [9]}
ATTENTIONS = combinations(Attention, UNITS)
every_kind = pytest.mark.parametrize("kind", list(KINDS))


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def plain_product(x: np.ndarray, weight: np.ndarray, reach: int) -> np.ndarray:
    """The definition, in integers of 64 bits."""
    x_scale = np.abs(x).max(1, keepdims=True, initial=0) / 127
    w_scale = np.abs(weight).max(1, keepdims=True) / reach
    x_int, w_int = np.rint(x / x_scale).astype(np.int64), np.rint(weight / w_scale).astype(np.int64)
    return (x_int @ w_int.T) * x_scale * w_scale.T


@pytest.mark.parametrize(("rows", "inputs", "outputs"), SHAPES)
@pytest.mark.parametrize("with_bias", [True, False])
def test_a_product_is_that_of_integers(rows: int, inputs: int, outputs: int, with_bias: bool) -> None:
    x, weight = draw(rows, inputs), draw(outputs, inputs, seed=1)
    bias = draw(outputs, seed=2) if with_bias else None
    expected = plain_product(numbers(x), numbers(weight), quantisation.weight_reach())
    expected = expected + (numbers(bias) if bias is not None else 0)
    np.testing.assert_allclose(numbers(Int8Linear(weight, bias)(x)), expected, rtol=1e-12, atol=1e-12)


def test_a_product_is_near_that_of_floating_point() -> None:
    x, linear = draw(40, 96, dtype=torch.float32), nn.Linear(96, 50)
    exact, found = linear(x), Int8Linear(linear.weight, linear.bias)(x)
    step = x.abs().amax(1, keepdim=True) / 127 * linear.weight.abs().amax(1) / quantisation.weight_reach()
    # each of the 96 terms is off by half a step of either factor at most, and rarely all one way
    assert ((found - exact).abs() / step).max() < 96 * quantisation.GREATEST / 4
    assert (found - exact).abs().max() < 0.02 * exact.abs().max()


def test_each_vector_has_its_own_scale() -> None:
    linear = Int8Linear(draw(6, 16), None)
    small, large = draw(1, 16, seed=1), 1e6 * draw(1, 16, seed=2)
    same(linear(torch.cat([small, large])), torch.cat([linear(small), linear(large)]), rtol=0, atol=0)


def test_leading_axes_are_kept() -> None:
    linear, x = Int8Linear(draw(6, 16), draw(6, seed=3)), draw(2, 3, 5, 16, seed=1)
    same(linear(x), linear(x.flatten(0, 2)).unflatten(0, (2, 3, 5)), rtol=0, atol=0)
    assert linear(x[:, :0]).shape == (2, 0, 5, 6)
    same(linear(x.transpose(0, 1)), linear(x).transpose(0, 1), rtol=0, atol=0)


def test_zeros_give_the_bias() -> None:
    bias = draw(6)
    same(Int8Linear(torch.zeros(6, 16, dtype=torch.float64), bias)(draw(2, 16)), bias.expand(2, 6))
    same(Int8Linear(draw(6, 16), bias)(torch.zeros(2, 16, dtype=torch.float64)), bias.expand(2, 6))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_nan_and_infinity_are_not_hidden(bad: float) -> None:
    x = draw(2, 16)
    x[0, 3] = bad
    found = Int8Linear(draw(6, 16), None)(x)
    assert found[0].isnan().all()
    assert found[1].isfinite().all()


def test_weights_reach_as_far_as_sums_stay_exact(monkeypatch) -> None:
    assert quantisation.weight_reach() in (64, 127)
    extreme = torch.full((8, 512), 1.0, dtype=torch.float64)
    same(Int8Linear(extreme, None)(extreme), torch.full((8, 8), 512.0, dtype=torch.float64))
    monkeypatch.setattr(quantisation, "weight_reach", lambda: 64)
    assert Int8Linear(draw(6, 16), None).matrix.abs().max() == 64


OLD_PROCESSOR = """
import torch
from transduce.quantisation import Int8Linear
x, w = torch.ones(8, 512, dtype=torch.float64), torch.ones(64, 512, dtype=torch.float64)
torch.testing.assert_close(Int8Linear(w, None)(x), torch.full((8, 64), 512.0, dtype=torch.float64))
"""


def test_sums_are_exact_on_processors_without_8_bit_sums_too() -> None:
    old = os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX2"}  # says nothing to processors of other kinds
    subprocess.run([sys.executable, "-c", OLD_PROCESSOR], env=old, check=True)


def model_of(cell: Spec[Cell], attention: Spec[Attention], **decoder: object) -> nn.Module:
    options = {"cell": cell, "width": 16, "attention": attention, **decoder}
    return build({"cell": cell, "width": 16, "bidirectional": False}, options)


@pytest.mark.parametrize("attention", ATTENTIONS, ids=label)
def test_every_attention_is_near_its_floating_point(attention: Spec[Attention]) -> None:
    check_near(model_of(Spec(Cell, "lstm"), attention))


@pytest.mark.parametrize("cell", CELLS, ids=label)
@pytest.mark.parametrize("attend", ["before", "after"])
def test_every_cell_is_near_its_floating_point(cell: Spec[Cell], attend: str) -> None:
    check_near(model_of(cell, Spec(Attention, "additive", {"units": 16}), attend=attend, layers=2))


def check_near(model: nn.Module) -> None:
    """Log-probabilities move, but little: by far less than another input moves them."""
    given, tokens = source((6, 3, 5)), torch.tensor([[BOS, 5, 6, 7]] * 3)
    small = copy.deepcopy(model)
    quantise(small)
    exact, found = model(given, tokens).log_probs, small(given, tokens).log_probs
    other = model(source((6, 3, 5), seed=9), tokens).log_probs
    assert 0 < (found - exact).abs().mean() < 0.1 * (other - exact).abs().mean()
    assert not any(isinstance(module, nn.Linear) and len(module.weight) > 1 for module in held(small))


def held(model: nn.Module) -> list[nn.Module]:
    """The modules whose parameters are still in memory."""
    return [m for m in model.modules() if all(p.device.type == "cpu" for p in m.parameters(recurse=False))]


def test_matrices_take_a_quarter_of_the_memory() -> None:
    model = make("lstm+dot", torch.float32).model
    before = sum(parameter.numel() for parameter in model.parameters())
    embeddings = sum(m.weight.numel() for m in model.modules() if isinstance(m, nn.Embedding))
    quantise(model)
    kept = [p for p in model.parameters() if p.device.type == "cpu"]
    assert sum(parameter.numel() for parameter in kept) == embeddings
    integers = [b for b in model.buffers() if b.dtype is torch.int8]
    rest = sum(b.numel() for b in model.buffers() if b.dtype is not torch.int8)
    assert sum(b.numel() for b in integers) + embeddings + rest >= 0.95 * before  # nothing was left out
    assert {b.element_size() for b in integers} == {1}


def test_what_is_saved_keeps_its_names() -> None:
    model = make("gru+additive").model
    names = set(model.state_dict())
    assert names == {name for name, _ in model.named_parameters()}
    assert not any("owner" in name or "project" in name or "recur" in name for name in names)


def test_a_model_elsewhere_is_refused() -> None:
    with pytest.raises(ConfigError, match="int8: expected a model on the CPU; got one on meta"):
        quantise(nn.Linear(4, 4, device="meta"))


@every_kind
@pytest.mark.parametrize("beam", [1, 5])
@pytest.mark.usefixtures("unchecked")
def test_BAT_01_int8_translations_do_not_depend_on_the_batch_size(kind: str, beam: int) -> None:
    given, translator = lines(), make(kind)
    exact = translator.translate(given, search=translator.searcher(width=beam))
    quantise(translator.model)
    search = translator.searcher(width=beam, n_best=beam)
    alone = translator.translate(given, search=search, batch_size=1)
    assert [one.score for one in alone] != [one.score for one in exact]
    assert len({one.text for one in alone}) > 10
    for batch_size in (7, 20):
        together = translator.translate(given, search=search, batch_size=batch_size)
        for found, expected in zip(together, alone, strict=True):
            assert [one.tokens for one in found.n_best] == [one.tokens for one in expected.n_best]
            assert found.tokens == expected.tokens
            assert found.log_prob == pytest.approx(expected.log_prob, abs=1e-9 * len(expected.tokens))
            np.testing.assert_allclose(found.attention, expected.attention, atol=1e-9)
