"""Token embeddings."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.layers.dropout import Dropout, drawn
from transduce.types import PAD, UNK


class Masks(NamedTuple):
    """What each sentence drops at all its positions; None for what is dropped anew at each, or not at all."""

    words: Float[Tensor, "N V"] | None = None
    features: Float[Tensor, "N E"] | None = None


NOTHING = Masks()


class Embedding(nn.Module):
    """Vectors for token ids, with dropout. PAD's is zero and learns nothing; ids ≥ V read as UNK.

    `embedding_dropout` zeroes whole symbols, wherever they stand in a sentence (Gal and Ghahramani 2016,
    arXiv:1512.05287, §4.2).
    """

    def __init__(
        self,
        vocab_size: int,
        width: int,
        dropout: float,
        variational: bool = False,
        embedding_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.vocab_size, self.embedding_dropout = vocab_size, embedding_dropout
        self.table = nn.Embedding(vocab_size, width, padding_idx=PAD)
        self.dropout = Dropout(dropout, variational=variational)

    @property
    def width(self) -> int:
        return self.table.embedding_dim

    def start_small(self) -> None:
        """N(0, 1/width), for a table that is an output layer too: N(0, 1) would make its logits huge."""
        nn.init.normal_(self.table.weight, std=self.width**-0.5)
        with torch.no_grad():
            self.table.weight[PAD] = 0.0

    def masks(self, rows: int) -> Masks:
        """What each of so many sentences drops throughout."""
        like = self.table.weight
        words = drawn(like, rows, self.vocab_size, self.embedding_dropout) if self.training else None
        return Masks(words, self.dropout.mask(like, rows, self.width))

    def forward(self, tokens: Int[Tensor, "*batch"], masks: Masks = NOTHING) -> Float[Tensor, "*batch E"]:
        """Vectors of ids [N] or [B T]."""
        known = tokens.masked_fill(tokens >= self.vocab_size, UNK)
        vectors = self.table(known)
        if masks.words is not None:
            kept = masks.words.gather(1, known.reshape(len(known), -1)).reshape(known.shape)
            vectors = vectors * kept.unsqueeze(-1)
        return self.dropout(vectors, masks.features)
