"""The recurrent encoder against torch's own stacked and bidirectional modules."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.helpers import VOCAB, doubled, same, source
from transduce.config import Spec
from transduce.encoders.recurrent import RecurrentEncoder, flip, mirrored
from transduce.errors import ConfigError
from transduce.layers.cells import Cell
from transduce.types import CellState

LENGTHS = (3, 1, 5, 2)
TORCH = {"gru": nn.GRU, "lstm": nn.LSTM}


def make(cell: str, layers: int = 2, bidirectional: bool = True, dropout: float = 0.0) -> RecurrentEncoder:
    torch.manual_seed(0)
    options = {
        "width": 4,
        "embedding": 3,
        "layers": layers,
        "bidirectional": bidirectional,
        "dropout": dropout,
    }
    return doubled(RecurrentEncoder(VOCAB, cell=Spec(Cell, cell), **options))


def torchs(encoder: RecurrentEncoder, cell: str, bidirectional: bool) -> nn.RNNBase:
    """torch's module with the parameters of ours, as its documentation names them."""
    theirs = TORCH[cell](
        3,
        4,
        num_layers=len(encoder.layers),
        bidirectional=bidirectional,
        batch_first=True,
        dtype=torch.float64,
    )
    with torch.no_grad():
        for layer, directions in enumerate(encoder.layers):
            for suffix, ours in zip(("", "_reverse"), directions, strict=False):
                for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                    parameter = getattr(theirs, f"{part}_l{layer}{suffix}")
                    parameter.copy_(getattr(ours.rnn, f"{part}_l0"))
    return theirs


def side_by_side(final: Tensor, directions: int) -> Tensor:
    """torch's [layers · directions, B, D] as [B, layers, directions · D]."""
    return final.unflatten(0, (-1, directions)).permute(2, 0, 1, 3).flatten(2)


@pytest.mark.parametrize("cell", list(TORCH))
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_equals_torchs(cell: str, bidirectional: bool, layers: int) -> None:
    encoder, given = make(cell, layers, bidirectional), source(LENGTHS)
    packed = pack_padded_sequence(
        encoder.embedding(given.tokens), torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False
    )
    expected, final = torchs(encoder, cell, bidirectional)(packed)
    values, _, state = encoder(given)
    same(values, pad_packed_sequence(expected, batch_first=True)[0])
    directions = 2 if bidirectional else 1
    finals = [side_by_side(leaf, directions) for leaf in (final if cell == "lstm" else (final,))]
    same(state, CellState(finals[0], finals[-1] if cell == "lstm" else torch.zeros_like(finals[0])))


@pytest.mark.parametrize("cell", list(Cell.family))
@pytest.mark.parametrize("layers", [1, 2])
def test_the_final_state_is_that_of_the_last_real_token(cell: str, layers: int) -> None:
    """Forwards after the last real token, backwards after the first."""
    values, _, final = make(cell, layers)(source(LENGTHS, width=8))
    for row, length in enumerate(LENGTHS):
        same(final.hidden[row, -1, :4], values[row, length - 1, :4])
        same(final.hidden[row, -1, 4:], values[row, 0, 4:])


def test_bidirectional_first_reads_both_ways_in_the_first_layer_alone() -> None:
    """Wu et al. 2016, fig. 3; the first layer's final state is that of its backward reading."""
    torch.manual_seed(0)
    options = {"width": 4, "embedding": 3, "dropout": 0.0, "bidirectional": "first"}
    encoder = doubled(RecurrentEncoder(VOCAB, cell=Spec(Cell, "lstm"), layers=4, residual_from=3, **options))
    assert encoder.shape == (4, 4, 4, 1)
    (forwards, backwards), *above = encoder.layers
    values, _, final = encoder(source(LENGTHS))
    zero = torch.zeros(1, 4, dtype=torch.float64)
    for row, length in enumerate(LENGTHS):
        x = encoder.embedding(source(LENGTHS).tokens[row : row + 1, :length])
        ahead, _ = forwards.run(x, (zero, zero))
        back, last = backwards.run(x.flip(1), (zero, zero))
        same(final.hidden[row, 0], last[0][0])
        same(final.cell[row, 0], last[1][0])
        x = torch.cat([ahead, back.flip(1)], dim=-1)
        for layer, (cell,) in enumerate(above, 2):
            read, state = cell.run(x, (zero, zero))
            x = read + x if layer >= 3 else read
            same(final.hidden[row, layer - 1], state[0][0])
        same(values[row, :length], x[0])


@pytest.mark.parametrize("bidirectional", [False, True])
def test_shape_says_widths_layers_and_directions(bidirectional: bool) -> None:
    width = 8 if bidirectional else 4
    assert make("gru", 3, bidirectional).shape == (width, width, 3, 1 + bidirectional)


def test_mirrored_swaps_real_positions_and_leaves_padding() -> None:
    mirror = mirrored(torch.tensor([3, 1, 5]), 5)
    assert mirror.tolist() == [[2, 1, 0, 3, 4], [0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]


def test_flip_reads_real_tokens_backwards_and_undoes_itself() -> None:
    x = torch.arange(1.0, 11.0).reshape(2, 5, 1)
    mirror = mirrored(torch.tensor([3, 5]), 5)
    flipped = flip(x, mirror)
    assert flipped.flatten(1).tolist() == [[3, 2, 1, 4, 5], [10, 9, 8, 7, 6]]
    assert flip(flipped, mirror).equal(x)


@pytest.mark.parametrize("cell", list(Cell.family))
def test_padding_is_zero_in_what_attention_will_read(cell: str) -> None:
    given = source(LENGTHS, width=7)
    assert make(cell)(given).values[~given.mask].eq(0).all()


def test_dropout_falls_between_layers_too() -> None:
    encoder, given = make("gru", layers=2, dropout=0.5), source(LENGTHS)
    encoder.train()
    encoder.embedding.eval()  # so that only the dropout between layers is left
    assert not encoder(given).values.allclose(encoder(given).values)
    single = make("gru", layers=1, dropout=0.5).train()
    single.embedding.eval()
    same(single(given).values, single(given).values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, r"encoder\.width: expected at least 1; got 0"),
        ({"layers": 0}, r"encoder\.layers: expected at least 1; got 0"),
        ({"embedding": -1}, r"encoder\.embedding: expected at least 1; got -1"),
        ({"dropout": 1.5}, r"encoder\.dropout: expected at least 0 and below 1; got 1\.5"),
        ({"dropout": -0.1}, r"encoder\.dropout: expected at least 0 and below 1; got -0\.1"),
        ({"bidirectional": "first"}, "bidirectional 'first' needs at least 2 layers; got layers: 1"),
        ({"embedding_dropout": 1.0}, r"encoder\.embedding_dropout: expected at least 0 .*; got 1\.0"),
        ({"bidirectional": "first", "layers": 3, "residual_from": 2}, "got 2, and layers of width 512, 256"),
        ({"dropout": math.nan}, r"encoder\.dropout: expected at least 0 and below 1; got nan"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RecurrentEncoder(VOCAB, **options)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_reversed_source_is_read_backwards_and_shown_in_order(bidirectional: bool) -> None:
    """Real tokens alone turn round; state i still belongs to token i."""
    options = {"width": 3, "embedding": 2, "bidirectional": bidirectional, "dropout": 0.0}
    plain = doubled(RecurrentEncoder(VOCAB, **options))
    reverse = doubled(RecurrentEncoder(VOCAB, **options, reverse_source=True))
    reverse.load_state_dict(plain.state_dict())
    given = source((4, 1, 3))
    turned = given.tokens.clone()
    for row, length in enumerate((4, 1, 3)):
        turned[row, :length] = given.tokens[row, :length].flip(0)
    expected, found = plain(given._replace(tokens=turned)), reverse(given)
    for row, length in enumerate((4, 1, 3)):
        same(found.values[row, :length], expected.values[row, :length].flip(0))
    same(found.final, expected.final)
