"""Where a new run's parameters come from, other than chance."""

from collections.abc import Callable
from pathlib import Path

import torch

from transduce.data.vectors import read_vectors
from transduce.errors import DataError
from transduce.layers.embedding import Embedding
from transduce.model import Seq2Seq
from transduce.tokenizers import Tokenizer
from transduce.training.checkpoint import load_model
from transduce.types import SPECIALS

Say = Callable[[str], None]


def start_from_run(model: Seq2Seq, folder: str | Path, say: Say) -> None:
    """Sets all parameters to those of another run's best model, which must be of the same shape."""
    load_model(Path(folder) / "model.safetensors", model)
    say(f"starts from the model of {folder}, with its vocabularies")


def start_from_vectors(
    embedding: Embedding, tokenizer: Tokenizer, path: str | Path, side: str, say: Say
) -> None:
    """Sets the table's rows of all symbols that the file has vectors of, and says how many those are.

    Symbols that it has not keep what they were initialised with. Raises DataError where no symbol is found.
    """
    ids = {tokenizer.token(index): index for index in range(SPECIALS, tokenizer.vocab_size)}
    found = read_vectors(path, ids, embedding.width)
    if not found:
        raise DataError(
            f"{path}: expected vectors of {side} symbols; it has none of the {len(ids):,} there are"
        )
    with torch.no_grad():
        for index, vector in found.items():
            embedding.table.weight[index] = torch.from_numpy(vector)
    say(f"{side} embeddings: {len(found):,} of {len(ids):,} symbols start from {path}")
