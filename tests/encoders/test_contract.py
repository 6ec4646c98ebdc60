"""The laws every encoder keeps, with every combination of its options."""

import functools

import pytest
import torch
from torch import Tensor

from tests.helpers import VOCAB, alone, combinations, covering, doubled, every, label, padded, same, source
from transduce.config import Spec
from transduce.encoders import Encoder
from transduce.layers.cells import Cell
from transduce.types import UNK, Encoded, Source

LENGTHS = (3, 1, 5, 2)
STACKS = combinations(
    Encoder,
    {
        "cell": every(Cell),
        "width": [6],
        "embedding": [4],
        "layers": [3],
        "bidirectional": [False, True, "first"],
        "reverse_source": [False, True],
        "residual_from": [None, 3],
        "layer_norm": [False, True],
        "dropout": [0.3],
        "variational": [False, True],
        "embedding_dropout": [0.0, 0.2],
    },
)
SPECS = covering(STACKS, 2) + combinations(
    Encoder,
    {
        "cell": every(Cell),
        "width": [6],
        "embedding": [4],
        "layers": [1, 2],
        "bidirectional": [False, True],
        "dropout": [0.3],
    },
)

every_encoder = pytest.mark.parametrize("spec", SPECS, ids=label)


def make(spec: Spec[Encoder]) -> Encoder:
    torch.manual_seed(0)
    return doubled(spec.build(VOCAB))


def leaves(encoded: Encoded) -> tuple[Tensor, ...]:
    return encoded.values, encoded.final.hidden, encoded.final.cell


@every_encoder
def test_shapes_are_what_the_encoder_says(spec: Spec[Encoder]) -> None:
    encoder, given = make(spec), source(LENGTHS)
    values, mask, (hidden, cell) = encoder(given)
    width, final_width, layers, directions = encoder.shape
    assert values.shape == (4, 5, width)
    assert mask.equal(given.mask)
    assert mask.dtype == torch.bool
    assert hidden.shape == cell.shape == (4, layers, final_width)
    assert directions in (1, 2)
    assert all(leaf.dtype == torch.float64 for leaf in (values, hidden, cell))
    assert all(leaf.isfinite().all() for leaf in (values, hidden, cell))


@every_encoder
def test_BAT_12_columns_of_pure_padding_change_nothing(spec: Spec[Encoder]) -> None:
    encoder, given = make(spec), source((3, 2))
    before, after = encoder(given), encoder(padded(given, 3))
    assert after.values.shape == (2, 6, encoder.shape.width)
    assert after.mask.shape == (2, 6)
    same(after.values[:, :3][given.mask], before.values[given.mask])
    same(after.final, before.final)


@every_encoder
def test_BAT_01_a_row_is_the_same_alone_and_in_a_batch(spec: Spec[Encoder]) -> None:
    encoder, given = make(spec), source(LENGTHS)
    whole = encoder(given)
    for row, length in enumerate(LENGTHS):
        lone = encoder(alone(given, row))
        same(lone.values, whole.values[row : row + 1, :length])
        same(lone.final.hidden, whole.final.hidden[row : row + 1])
        same(lone.final.cell, whole.final.cell[row : row + 1])


@every_encoder
def test_ids_at_padding_are_never_read(spec: Spec[Encoder]) -> None:
    encoder, given = make(spec), source(LENGTHS)
    noisy = Source(given.tokens.masked_fill(~given.mask, VOCAB - 1), given.mask)
    before, after = encoder(given), encoder(noisy)
    same(after.values[given.mask], before.values[given.mask])
    same(after.final, before.final)


@every_encoder
def test_the_order_of_rows_does_not_matter(spec: Spec[Encoder]) -> None:
    encoder, given = make(spec), source(LENGTHS)
    order = torch.tensor([2, 0, 3, 1])
    moved = encoder(Source(given.tokens[order], given.mask[order]))
    for found, expected in zip(leaves(moved), leaves(encoder(given)), strict=True):
        same(found, expected[order])


@every_encoder
def test_every_real_token_reaches_the_final_state(spec: Spec[Encoder]) -> None:
    encoder, given = make(spec), source(LENGTHS)
    before = encoder(given).final.hidden
    for column in range(max(LENGTHS)):
        changed = given.tokens.clone()
        changed[:, column] = torch.where(
            given.mask[:, column], changed[:, column] % 5 + 4, changed[:, column]
        )
        moved = (encoder(Source(changed, given.mask)).final.hidden - before).abs().amax(dim=(1, 2))
        assert moved.gt(1e-6).equal((changed != given.tokens).any(dim=1))


@every_encoder
def test_ids_past_the_vocabulary_read_as_unk(spec: Spec[Encoder]) -> None:
    encoder, given = make(spec), source(LENGTHS)
    beyond, unknown = given.tokens.clone(), given.tokens.clone()
    beyond[:, 0], unknown[:, 0] = VOCAB + 3, UNK
    for found, expected in zip(
        leaves(encoder(Source(beyond, given.mask))), leaves(encoder(Source(unknown, given.mask))), strict=True
    ):
        same(found, expected)


@every_encoder
def test_every_parameter_gets_a_finite_gradient(spec: Spec[Encoder]) -> None:
    encoder, given = make(spec), source(LENGTHS)
    functools.reduce(torch.add, (leaf.square().sum() for leaf in leaves(encoder(given)))).backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.ne(0).any(), name


@every_encoder
def test_dropout_falls_in_training_only(spec: Spec[Encoder]) -> None:
    encoder, given = make(spec), source(LENGTHS)
    same(encoder(given).values, encoder(given).values)
    encoder.train()
    assert not encoder(given).values.allclose(encoder(given).values)
