"""Dropout: anew at every position, or one mask for a whole sentence; embeddings drop symbols too."""

import pytest
import torch

from transduce.layers.dropout import Dropout, drawn
from transduce.layers.embedding import Embedding

X = torch.ones(6, 40, 50)


def test_plain_dropout_differs_from_position_to_position() -> None:
    torch.manual_seed(0)
    dropped = Dropout(0.25)(X, Dropout(0.25).mask(X, 6, 50))
    assert dropped.unique().tolist() == pytest.approx([0.0, 4 / 3])
    assert dropped.eq(0).float().mean().item() == pytest.approx(0.25, abs=0.02)
    assert not dropped[:, 0].equal(dropped[:, 1])


def test_variational_dropout_is_one_mask_a_sentence() -> None:
    torch.manual_seed(0)
    dropout = Dropout(0.25, variational=True)
    mask = dropout.mask(X, 6, 50)
    dropped = dropout(X, mask)
    assert dropped.eq(dropped[:, :1]).all()
    assert not dropped[0].equal(dropped[1])
    assert dropped.unique().tolist() == pytest.approx([0.0, 4 / 3])
    torch.testing.assert_close(dropout(X[:, 3], mask), dropped[:, 3])  # one position, as steps ask for it
    assert drawn(X, 100, 100, 0.25).mean().item() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("variational", [False, True])
def test_nothing_falls_outside_training_or_at_rate_zero(variational: bool) -> None:
    resting = Dropout(0.5, variational=variational).eval()
    assert resting(X, resting.mask(X, 6, 50)).equal(X)
    never = Dropout(0.0, variational=variational)
    assert never(X, never.mask(X, 6, 50)).equal(X)


def test_embedding_dropout_drops_a_symbol_wherever_it_stands_in_a_sentence() -> None:
    torch.manual_seed(0)
    embedding = Embedding(30, 4, 0.0, embedding_dropout=0.5)
    tokens = torch.arange(4, 29).repeat(3, 2)  # each symbol twice, in three sentences
    vectors = embedding(tokens, embedding.masks(3))
    gone = vectors.eq(0).all(dim=-1)
    assert gone[:, :25].equal(gone[:, 25:])
    assert not gone[0].equal(gone[1])
    assert 0.2 < gone.float().mean() < 0.8
    torch.testing.assert_close(vectors[~gone], 2 * embedding.table(tokens)[~gone])
    masks = embedding.masks(3)
    torch.testing.assert_close(embedding(tokens[:, 5], masks), embedding(tokens, masks)[:, 5])
    assert embedding.eval().masks(3) == (None, None)


def test_variational_embeddings_drop_the_same_features_of_every_symbol() -> None:
    torch.manual_seed(0)
    embedding = Embedding(30, 16, 0.5, variational=True)
    gone = embedding(torch.arange(4, 24).expand(2, -1), embedding.masks(2)).eq(0)
    assert gone.eq(gone[:, :1]).all()
    assert 0 < gone.float().mean() < 1
