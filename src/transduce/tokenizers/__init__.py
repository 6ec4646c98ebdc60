"""Tokenizers: text to ids and back, with each token's place in the text."""

from transduce.config import discover
from transduce.tokenizers.base import Encoding, Tokenizer, load_tokenizer

discover(__name__, __path__)

__all__ = ["Encoding", "Tokenizer", "load_tokenizer"]
