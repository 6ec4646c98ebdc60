"""A shuffle of any number of rows, computed where it is asked for."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
ROUNDS = 6


class Permutation:
    """A keyed bijection of 0 … size - 1 that needs no array of that length.

    A Feistel network (Luby and Rackoff 1988) over two digits, places written with a base near √size, that
    adds modulo a digit's base (Black and Rogaway 2002); what falls outside is permuted again.
    """

    def __init__(self, size: int, seed: Sequence[int]) -> None:
        self.size = size
        self.upper = math.isqrt(max(size - 1, 0)) + 1  # values of the upper digit, and of the lower
        self.lower = max(1, math.ceil(size / self.upper))
        self.keys = np.random.default_rng(seed).integers(2**64, size=ROUNDS, dtype=np.uint64)

    def __call__(self, places: Places) -> Places:
        """The images of these places."""
        found = self._mix(places)
        while (outside := found >= self.size).any():
            found[outside] = self._mix(found[outside])
        return found

    def _mix(self, places: Places) -> Places:
        upper, lower = np.divmod(places, self.lower)
        for first, second in self.keys.reshape(-1, 2):
            upper = (upper + scrambled(lower, first)) % self.upper
            lower = (lower + scrambled(upper, second)) % self.lower
        return upper * self.lower + lower


def scrambled(values: Places, key: np.uint64) -> Places:
    """SplitMix64's finaliser (Steele et al. 2014) of each value and the key, as 62 bits."""
    bits = values.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + key
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return ((bits ^ (bits >> np.uint64(31))) >> np.uint64(2)).astype(np.int64)
