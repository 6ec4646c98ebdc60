"""The smallest task that needs attention: repeat a random sequence, forwards or backwards."""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from transduce.data.pairs import Pair, PairSource, Part, Place, Row, numbered
from transduce.errors import ConfigError

SIZES: dict[Part, int] = {"train": 1024, "dev": 256, "test": 1024}
NOTHING = -1  # after the end of a sequence
PATIENCE = 1500  # draws per pair before giving up; dev and test need 20 where sequences abound


class CopyReverse(PairSource, name="copy_reverse"):
    """Random sequences of `length` words out of `symbols` ("0", "1", …); the target is their reverse or copy.

    Every sequence belongs to one part, by a fixed hash (90 % train, 5 % dev, 5 % test), so nothing
    that is scored was ever trained on, whatever the seed. Dev and test ignore the seed.

    Args:
        size: pairs in this part; None means 1024 to train, 256 for dev, 1024 to test.
        length: words per sequence.
        shortest: if given, sequences have any number of words from this to `length`, each as often.
        symbols: different words.
        task: `reverse` or `copy`.
        fresh: new training sequences each epoch, a pure function of seed and epoch.
    """

    def __init__(
        self,
        place: Place,
        *,
        size: int | None = None,
        length: int = 8,
        shortest: int | None = None,
        symbols: int = 12,
        task: Literal["reverse", "copy"] = "reverse",
        fresh: bool = False,
    ) -> None:
        self.place, self.length, self.symbols, self.task = place, length, symbols, task
        self.size = SIZES[place.part] if size is None else size
        self.shortest = length if shortest is None else shortest
        self.fresh = fresh and place.part == "train"
        for name in ("size", "length", "shortest", "symbols"):
            if getattr(self, name) < 1:
                raise ConfigError(f"copy_reverse: expected {name} of at least 1; got {getattr(self, name)}")
        if self.shortest > length:
            raise ConfigError(
                f"copy_reverse: expected shortest at most length; got shortest {shortest}, length {length}"
            )

    def rows(self, epoch: int = 0) -> Iterator[Row]:
        words = [[str(symbol) for symbol in row if symbol != NOTHING] for row in self._draw(epoch).tolist()]
        step = -1 if self.task == "reverse" else 1
        return numbered([Pair(" ".join(row), " ".join(row[::step])) for row in words])

    def _draw(self, epoch: int) -> np.ndarray:
        """Sequences of this part, [size length]: drawn from all there are, the other parts' thrown away."""
        rng = np.random.default_rng(self._entropy(epoch))
        rows = min(24 * self.size, 2**20 // self.length + 1)
        kept, count = [], 0
        for _ in range(PATIENCE * self.size // rows + 1):
            drawn = rng.integers(self.symbols, size=(rows, self.length))
            if self.shortest < self.length:
                lengths = rng.integers(self.shortest, self.length + 1, size=(rows, 1))
                drawn[np.arange(self.length) >= lengths] = NOTHING
            kept.append(drawn[_in_part(drawn, self.place.part)])
            count += len(kept[-1])
            if count >= self.size:
                return np.concatenate(kept)[: self.size]
        raise ConfigError(
            f"copy_reverse: expected sequences that are in {self.place.part} alone; got too few with "
            f"length {self.length} and symbols {self.symbols}; raise one of them"
        )

    def _entropy(self, epoch: int) -> list[int]:
        if self.place.part != "train":
            return [0, 0, 1 if self.place.part == "dev" else 2]
        return [self.place.seed % 2**64, epoch if self.fresh else 0]


def _in_part(sequences: np.ndarray, part: Part) -> np.ndarray:
    """Which rows of [N length], NOTHING after a row's end, belong to `part`: [N] booleans."""
    code = (sequences != NOTHING).sum(axis=1).astype(np.uint64)
    for column in sequences.T:
        mixed = (code + column.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)  # wraps
        code = np.where(column == NOTHING, code, mixed ^ (mixed >> np.uint64(29)))
    share = code % np.uint64(20)
    return {"train": share >= 2, "dev": share == 0, "test": share == 1}[part]
