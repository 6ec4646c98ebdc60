"""Encoders: a source in, its encoded states out."""

from transduce.config import discover
from transduce.encoders.base import Encoder

discover(__name__, __path__)

__all__ = ["Encoder"]
