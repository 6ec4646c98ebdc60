"""Several corpora as one."""

import math
from collections.abc import Iterator

from transduce.config import Spec
from transduce.data.pairs import Member, PairSource, Place, Row
from transduce.errors import ConfigError


class Mix(PairSource, name="mix"):
    """Several sources of training pairs, each with a weight: how often an epoch takes each of its pairs.

    At weight 2 each pair comes twice an epoch; at .5 half of them come, in the next epoch the other half.
    A list of sources is short for this: `[a.tsv, {path: b.tsv, weight: 2}]`.
    """

    def __init__(
        self, place: Place, *, sources: list[Spec[PairSource]], weights: list[float] | None = None
    ) -> None:
        weights = [1.0] * len(sources) if weights is None else weights
        if not sources or len(weights) != len(sources):
            raise ConfigError(
                f"mix: expected sources, and as many weights; got {len(sources)} and {len(weights)}"
            )
        if not all(0 < weight < math.inf for weight in weights):
            raise ConfigError(f"mix: expected weights above 0; got {weights}")
        built = [spec.build(place) for spec in sources]
        if fresh := [spec.name for spec, source in zip(sources, built, strict=True) if source.fresh]:
            raise ConfigError(
                f"mix: expected pairs that stay the same each epoch; {fresh[0]} has fresh: true"
            )
        self._members = [Member(*pair) for pair in zip(built, weights, strict=True)]
        self.files = tuple(file for source in built for file in source.files)

    def members(self) -> list[Member]:
        return self._members

    def rows(self, epoch: int = 0) -> Iterator[Row]:
        for source, _ in self._members:
            yield from source.rows(epoch)
