"""Attention: where a decoder looks, one file a mechanism."""

from transduce.attention.base import Attended, Attention, Keys
from transduce.config import discover

discover(__name__, __path__)

__all__ = ["Attended", "Attention", "Keys"]
