"""Token embeddings."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.types import PAD, UNK


class Embedding(nn.Module):
    """Vectors for token ids, with dropout. PAD's is zero and learns nothing; ids ≥ V read as UNK."""

    def __init__(self, vocab_size: int, width: int, dropout: float) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.table = nn.Embedding(vocab_size, width, padding_idx=PAD)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch D"]:
        known = tokens.masked_fill(tokens >= self.vocab_size, UNK)
        return self.dropout(self.table(known))
