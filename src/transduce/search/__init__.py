"""Search: from next-token log-probabilities to the best sequences."""

from transduce.config import discover
from transduce.search.base import Search
from transduce.search.hypotheses import Asked, Beam, Growth
from transduce.search.loop import Decoded, Moment, Transform, decode
from transduce.search.rules import MaxLength, MinLength

discover(__name__, __path__)

__all__ = [
    "Asked",
    "Beam",
    "Decoded",
    "Growth",
    "MaxLength",
    "MinLength",
    "Moment",
    "Search",
    "Transform",
    "decode",
]
