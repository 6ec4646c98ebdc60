"""Random numbers that depend on nothing but what they are for: counters, hashed.

Each is a function of a seed and of the place at which it is used, so neither the order in which they are
drawn nor what is drawn beside them can change one.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

GOLDEN = -7046029254386353131  # 0x9E3779B97F4A7C15, as int64
FIRST = -4658895280553007687  # 0xBF58476D1CE4E5B9
SECOND = -7723592293110705685  # 0x94D049BB133111EB


def uniform(seed: int, *places: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """Numbers in (0, 1), 53 random bits each, one for each tuple of places: line, sample and step.

    Place after place is mixed into a hash that begins as the seed's: SplitMix64's step and finalizer
    (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators", §5, constants of variant 13).
    """
    state = mix(torch.full_like(torch.broadcast_tensors(*places)[0], seed))
    for place in places:
        state = mix(state + (place + 1) * GOLDEN)
    return (shifted(state, 11).double() + 0.5) * 2.0**-53


def mix(x: Int[Tensor, "*batch"]) -> Int[Tensor, "*batch"]:
    """Every bit of the result depends on every bit of `x`; products are modulo 2^64."""
    x = (x ^ shifted(x, 30)) * FIRST
    x = (x ^ shifted(x, 27)) * SECOND
    return x ^ shifted(x, 31)


def shifted(x: Int[Tensor, "*batch"], bits: int) -> Int[Tensor, "*batch"]:
    """To the right, zeros moving in: torch's own shift repeats the sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)
