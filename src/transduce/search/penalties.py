"""How finished hypotheses are compared: by length, and by what of the source they have looked at.

The length L counts generated tokens, EOS in, BOS out. A larger alpha favours longer output; 0 is off.
"""

from abc import ABC, abstractmethod

from jaxtyping import Float
from torch import Tensor

from transduce.config import Component
from transduce.errors import ConfigError

Number = float | Tensor
GREATEST = 20.0  # exponent: a thousand symbols to that power are still a number


class LengthPenalty(Component, ABC):
    """Turns a summed log-probability into the score that ranks a finished hypothesis.

    Never decreasing in L for a fixed sum, so that the score at the greatest length is a bound.
    """

    @abstractmethod
    def divisor(self, length: Number) -> Number:
        """What the sum is divided by at this length."""


class NoPenalty(LengthPenalty, name="none"):
    """The summed log-probability as it is."""

    def divisor(self, length: Number) -> float:
        return 1.0


class AveragePenalty(LengthPenalty, name="average"):
    """L^α: 0 leaves the sum, 1 gives the mean log-probability of a token."""

    def __init__(self, *, alpha: float = 0.7) -> None:
        self.alpha = check_alpha(alpha)

    def divisor(self, length: Number) -> Number:
        return length**self.alpha


class GnmtPenalty(LengthPenalty, name="gnmt"):
    """((5 + L) / 6)^α (Wu et al. 2016, arXiv:1609.08144, eq. 14)."""

    def __init__(self, *, alpha: float = 0.6) -> None:
        self.alpha = check_alpha(alpha)

    def divisor(self, length: Number) -> Number:
        return ((5 + length) / 6) ** self.alpha


def check_alpha(alpha: float) -> float:
    if not 0 <= alpha < float("inf"):
        raise ConfigError(f"length_penalty.alpha: expected 0 or more; got {alpha}")
    if alpha > GREATEST:
        raise ConfigError(f"length_penalty.alpha: expected at most {GREATEST:g}; got {alpha}")
    return alpha


def coverage_term(coverage: Float[Tensor, "*batch S"]) -> Float[Tensor, "*batch"]:
    """Σ_i log(min(Σ_t α_{t,i}, 1)), the inner sum floored at 1e-10: 0 where every source token was attended
    to in full (Wu et al. 2016, arXiv:1609.08144, eq. 14). It is added, times β, after length normalisation.
    """
    return coverage.clamp(min=1e-10, max=1.0).log().sum(dim=-1)


def check_coverage(beta: float) -> float:
    if not 0 <= beta < float("inf"):
        raise ConfigError(f"search.coverage_penalty: expected 0 (off) or more; got {beta}")
    return beta
