"""Embeddings: PAD is nothing, and ids beyond the vocabulary are UNK."""

import torch

from transduce.layers.embedding import Embedding
from transduce.types import PAD, UNK


def make(dropout: float = 0.0) -> Embedding:
    torch.manual_seed(3)
    return Embedding(6, 4, dropout)


def test_pad_is_a_zero_vector() -> None:
    table = make().table.weight
    assert table[PAD].eq(0).all()
    assert table[1:].ne(0).all()


def test_pad_gets_no_gradient_and_never_moves() -> None:
    embedding = make()
    optimizer = torch.optim.SGD(embedding.parameters(), lr=0.5)
    (embedding(torch.tensor([[4, PAD], [5, PAD]])) - 1.0).square().sum().backward()
    assert embedding.table.weight.grad[PAD].eq(0).all()
    assert embedding.table.weight.grad[[4, 5]].ne(0).all()
    optimizer.step()
    assert embedding(torch.tensor([PAD])).eq(0).all()


def test_ids_past_the_vocabulary_read_as_unk() -> None:
    embedding = make()
    found = embedding(torch.tensor([[5, 6, 7, 10_000]]))
    assert found[0, 0].equal(embedding.table.weight[5])
    assert found[0, 1:].equal(embedding.table.weight[UNK].expand(3, -1))


def test_any_shape_of_ids() -> None:
    embedding = make()
    assert embedding(torch.tensor([1, 2])).shape == (2, 4)
    assert embedding(torch.ones(2, 3, 5, dtype=torch.long)).shape == (2, 3, 5, 4)


def test_dropout_falls_in_training_only() -> None:
    embedding, tokens = make(dropout=0.5), torch.arange(1, 6).repeat(20)
    plain = embedding.table(tokens)
    dropped = embedding(tokens)
    assert dropped.eq(0).any()
    torch.testing.assert_close(dropped[dropped != 0], 2 * plain[dropped != 0])
    assert embedding.eval()(tokens).equal(plain)
