"""Pairs whose sides do not fit each other in length."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from transduce.data.doctor.base import Check, Finding, many, share
from transduce.data.doctor.columns import Columns
from transduce.data.doctor.window import Ints, Window
from transduce.data.tally import Tally

LIMIT = 5.0  # deviations from the expected length
MEDIAN_OF_CHI_SQUARE = 0.4549  # with one degree of freedom


class Ratios(Check, name="length_ratio"):
    """Outliers of δ = (t − c·s) / √(s·σ²), for s and t characters on the two sides.

    Gale & Church 1993, "A Program for Aligning Sentences in Bilingual Corpora", section 3.1. Here c is the
    median of t/s, and σ² makes the median δ² that of a normal distribution: outliers cannot hide each other.
    """

    def __init__(self) -> None:
        self.columns = Columns()

    def look(self, window: Window) -> None:
        self.columns.add(window)

    def findings(self) -> Iterator[Finding]:
        lines, source, target = self.columns.whole()
        tally = Tally()
        outliers = np.abs(deviations(source, target)) > LIMIT
        tally.add(lines[outliers].tolist())
        if tally.count:
            expected = f"{np.median(target / source):.2f} target characters for each of the source"
            found = f"{many(tally.count, 'pair')} ({share(tally.count, len(source))})"
            text = f"{found} over {LIMIT:g} standard deviations from {expected}"
            yield Finding(self.name, "note", text, tally.count, tally.lines)


def deviations(source: Ints, target: Ints) -> NDArray[np.float64]:
    """δ of each pair. Rounding a length to whole characters is no deviation: hence at least 1 character."""
    difference = target - source * np.median(target / source)
    scale = np.median(difference**2 / source) / MEDIAN_OF_CHI_SQUARE
    return difference / np.sqrt(np.maximum(source * scale, 1.0))
