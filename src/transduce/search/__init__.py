"""Search: from next-token log-probabilities to the best sequences."""

from transduce.config import discover
from transduce.search.base import Beam, Growth, MaxLength, Search
from transduce.search.loop import Decoded, Transform, decode

discover(__name__, __path__)

__all__ = ["Beam", "Decoded", "Growth", "MaxLength", "Search", "Transform", "decode"]
