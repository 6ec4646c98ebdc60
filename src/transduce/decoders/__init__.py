"""Decoders: encoded source and target prefix in, next-token log-probabilities out."""

from transduce.config import discover
from transduce.decoders.base import Decoder

discover(__name__, __path__)

__all__ = ["Decoder"]
