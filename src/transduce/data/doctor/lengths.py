"""How long the two sides are."""

from collections.abc import Iterator

import numpy as np

from transduce.data.doctor.base import Check, Finding
from transduce.data.doctor.window import Ints, Side, Window

QUANTILES = {"min": 0, "p5": 5, "median": 50, "p95": 95, "p99": 99, "max": 100}


class Lengths(Check, name="lengths"):
    """Quantiles of characters (code points) and of words (parted by white space) on both sides."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Ints]] = {}

    def look(self, window: Window) -> None:
        for name, side in window.sides:
            self.columns.setdefault(f"{name} characters", []).append(side.lengths)
            self.columns.setdefault(f"{name} words", []).append(words(side))

    def findings(self) -> Iterator[Finding]:
        for name, parts in self.columns.items():
            lengths = np.concatenate(parts)
            at = np.percentile(lengths, [*QUANTILES.values()], method="inverted_cdf")
            values = dict(zip(QUANTILES, map(int, at), strict=True))
            total = int(lengths.sum())
            mean = {"mean": round(total / len(lengths), 2), "total": total}
            yield Finding(self.name, "fact", name, len(lengths), values={**values, **mean})


def words(side: Side) -> Ints:
    """Words of each text: the places where something follows white space."""
    spaces = [ord(character) for character in side.present if character.isspace()]
    empty = np.isin(side.codes, [ord("\n"), *spaces])
    starts = np.flatnonzero(~empty & np.concatenate([[True], empty[:-1]]))
    return np.bincount(side.rows_of(starts), minlength=len(side.texts))
