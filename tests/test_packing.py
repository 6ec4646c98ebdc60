"""Packed matrices: products and whole models against torch's plain ones."""

import copy
import math

import pytest
import torch
from torch import Tensor, nn

from tests.helpers import build, label, same, source
from tests.test_quantisation import ATTENTIONS, CELLS, SHAPES, held
from tests.translators import KINDS, lines, make
from transduce import packing
from transduce.attention import Attention
from transduce.config import Spec
from transduce.layers.cells import Cell
from transduce.packing import PackedLinear, can_pack, pack, works_here
from transduce.types import BOS

WITHIN = {"rtol": 1e-5, "atol": 1e-5}
available = pytest.mark.skipif(not works_here(), reason="this build of torch packs no matrices")


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@available
@pytest.mark.parametrize(("rows", "inputs", "outputs"), SHAPES)
@pytest.mark.parametrize("with_bias", [True, False])
def test_a_product_is_torchs(rows: int, inputs: int, outputs: int, with_bias: bool) -> None:
    x, linear = draw(rows, inputs), nn.Linear(inputs, outputs, bias=with_bias)
    found = PackedLinear(linear.weight, linear.bias)(x)
    assert found.shape == (rows, outputs)
    same(found, linear(x), **WITHIN)


@available
def test_part_of_a_matrix_leading_axes_and_strides() -> None:
    weight, x = draw(12, 40)[3:9, 5:21], draw(2, 3, 5, 16, seed=1)
    packed = PackedLinear(weight, None)
    assert (packed.in_features, packed.out_features) == (16, 6)
    same(packed(x), x @ weight.t(), **WITHIN)
    same(packed(x.transpose(0, 1)), packed(x).transpose(0, 1), **WITHIN)
    assert packed(x[:, :0]).shape == (2, 0, 5, 6)


@available
def test_few_numbers_of_rows_are_computed(monkeypatch) -> None:
    asked: set[int] = set()
    product = torch.ops.mkldnn._linear_pointwise

    def counted(x: Tensor, *rest: object) -> Tensor:
        asked.add(len(x))
        return product(x, *rest)

    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", counted)
    linear = nn.Linear(4, 3)
    packed = PackedLinear(linear.weight, linear.bias)
    for rows in range(321):
        x = draw(rows, 4)
        same(packed(x), linear(x), **WITHIN)
    assert asked == {*range(9), *range(16, 321, 16)}  # each costs memory for good


@available
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_nan_and_infinity_are_not_hidden(bad: float) -> None:
    x = draw(2, 16)
    x[0, 3] = bad
    found = PackedLinear(draw(6, 16), None)(x)
    assert not found[0].isfinite().any()
    assert found[1].isfinite().all()


@available
@pytest.mark.parametrize("attention", ATTENTIONS, ids=label)
def test_every_attention_says_the_same(attention: Spec[Attention]) -> None:
    check_same(attention=attention, cell=Spec(Cell, "lstm"))


@available
@pytest.mark.parametrize("cell", CELLS, ids=label)
@pytest.mark.parametrize("attend", ["before", "after"])
def test_every_cell_says_the_same(cell: Spec[Cell], attend: str) -> None:
    check_same(attention=Spec(Attention, "additive", {"units": 16}), cell=cell, attend=attend, layers=2)


def check_same(cell: Spec[Cell], **decoder: object) -> None:
    model = build(
        {"cell": cell, "width": 16, "bidirectional": False}, {"cell": cell, "width": 16, **decoder}
    ).float()
    given, tokens = source((6, 3, 5)), torch.tensor([[BOS, 5, 6, 7]] * 3)
    packed = copy.deepcopy(model)
    pack(packed)
    same(packed(given, tokens).log_probs, model(given, tokens).log_probs, **WITHIN)
    assert not any(isinstance(module, nn.Linear) and len(module.weight) > 1 for module in held(packed))


@available
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("beam", [1, 5])
def test_BAT_01_packed_translations_do_not_depend_on_the_batch_size(kind: str, beam: int) -> None:
    given, translator = lines(), make(kind, torch.float32)
    exact = translator.translate(given, search=translator.searcher(width=beam))
    pack(translator.model)
    for batch_size in (1, 7, 20):
        found = translator.translate(given, search=translator.searcher(width=beam), batch_size=batch_size)
        assert [one.text for one in found] == [one.text for one in exact]
        for one, other in zip(found, exact, strict=True):
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-5 * len(other.tokens))


def test_only_float32_on_a_cpu_is_packed(monkeypatch) -> None:
    linear = nn.Linear(4, 4)
    assert can_pack(linear) == works_here()
    assert not can_pack(nn.Linear(4, 4, device="meta"))
    assert not can_pack(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4).double()))
    monkeypatch.setattr(packing, "works_here", lambda: False)
    model = nn.Sequential(linear)
    pack(model)
    assert list(model) == [linear]


@pytest.mark.parametrize("name", ["_linear_pointwise", "_reorder_linear_weight"])
def test_operators_that_are_gone_or_changed_are_done_without(monkeypatch, name: str) -> None:
    for changed in (None, lambda *arguments: torch.zeros(4, 2)):
        with monkeypatch.context() as patch:
            if changed:
                patch.setattr(torch.ops.mkldnn, name, changed)
            else:
                patch.setattr(torch.ops, "mkldnn", object())
            assert not works_here.__wrapped__()


@available
def test_the_packed_product_is_in_use() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    pack(model)
    assert [type(module) for module in model] == [PackedLinear, nn.Linear]
