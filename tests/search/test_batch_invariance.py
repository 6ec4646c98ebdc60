"""The contract of batch invariance, on many random models: neither batch nor padding changes an output."""

import random

import pytest
import torch

from tests.helpers import VOCAB, combinations, doubled, every, padded, source
from transduce.attention import Attention
from transduce.config import Spec
from transduce.decoders.recurrent import RecurrentDecoder
from transduce.encoders.recurrent import RecurrentEncoder
from transduce.layers.cells import Cell
from transduce.model import Seq2Seq
from transduce.search import Search, decode
from transduce.search.results import Decoded
from transduce.types import BOS, EOS, Source, select

MODELS, SENTENCES, WIDTH = 200, 8, 4
ATTENTIONS = combinations(Attention, {"units": [3], "heads": [2], "max_source_length": [9]})


def model(rng: random.Random) -> Seq2Seq:
    """A random model of any cell, attention and way to attend."""
    torch.manual_seed(rng.randrange(2**31))
    cell, layers, two_ways = rng.choice(every(Cell)), rng.choice([1, 2]), rng.random() < 0.5
    sizes = {"layers": layers, "embedding": 3, "dropout": 0.0, "layer_norm": rng.random() < 0.2}
    encoder = RecurrentEncoder(
        VOCAB, cell=cell, bidirectional=two_ways, width=WIDTH // (1 + two_ways), **sizes
    )
    attend = rng.choice(["before", "after"])
    feeding = attend == "before" or rng.random() < 0.5
    options = {"attend": attend, "input_feeding": feeding, "attention": rng.choice(ATTENTIONS)}
    decoder = RecurrentDecoder(
        VOCAB, encoder.shape, cell=rng.choice(every(Cell)), width=WIDTH, **options, **sizes
    )
    return doubled(Seq2Seq(encoder, decoder), seed=rng.randrange(2**31), scale=4.0)


def found(network: Seq2Seq, given: Source, search: Search) -> Decoded:
    limits = torch.full((len(given.mask),), 5)
    return decode(network, given, search, bos=BOS, eos=EOS, max_length=limits)


def plain(decoded: Decoded) -> list[tuple[list[int], float]]:
    """The best of each sentence: its tokens and score."""
    lengths = decoded.length[:, 0].tolist()
    tokens = [row[:length] for row, length in zip(decoded.tokens[:, 0].tolist(), lengths, strict=True)]
    return list(zip(tokens, decoded.score[:, 0].tolist(), strict=True))


@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.usefixtures("unchecked")  # for speed: everything here is checked elsewhere
def test_BAT_01_two_hundred_random_models_say_the_same_in_any_batch(width: int) -> None:
    rng, search, different = random.Random(7), Spec(Search, "beam", {"width": width}).build(), set()
    for _ in range(MODELS):
        network = model(rng)
        given = source([rng.randint(1, 6) for _ in range(SENTENCES)], seed=rng.randrange(2**31))
        whole = plain(found(network, given, search))  # all in one batch, as 64 would take them
        different |= {tuple(tokens) for tokens, _ in whole}
        ones = [[row] for row in rng.sample(range(SENTENCES), 3)]
        for rows in ([*range(7)], [7], *ones):
            part = select(given, torch.tensor(rows))
            longest = int(part.mask.sum(dim=1).max())
            part = padded(Source(part.tokens[:, :longest], part.mask[:, :longest]), rng.randint(0, 3))
            for row, (tokens, score) in zip(rows, plain(found(network, part, search)), strict=True):
                assert tokens == whole[row][0]
                assert score == pytest.approx(whole[row][1], abs=1e-9)
    assert len(different) > 100  # the models do say different things
