"""Stretches where the two sides are out of step."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transduce.data.doctor.base import Check, Finding
from transduce.data.doctor.columns import Columns
from transduce.data.doctor.window import Ints, Window

BLOCK = 100  # pairs compared at a time
FURTHEST = 3  # lines
CLEAR = 0.8  # difference of Fisher's z: five standard deviations for blocks of 100
STRONG = 0.5  # correlation


class Shift(NamedTuple):
    """From `first` to `last` line, sources fit the targets `offset` pairs further down."""

    first: int
    last: int
    offset: int


class Shifts(Check, name="alignment"):
    """Blocks of 100 pairs where source lengths go with the lengths of targets some lines up or down.

    Compared are correlations of log lengths at offsets −3 … 3; another offset must beat 0 by five standard
    deviations of Fisher's z.
    """

    def __init__(self) -> None:
        self.columns = Columns()

    def look(self, window: Window) -> None:
        self.columns.add(window)

    def findings(self) -> Iterator[Finding]:
        lines, source, target = self.columns.whole()
        for shift in shifts(lines, source, target):
            direction = "down" if shift.offset > 0 else "up"
            away = f"{abs(shift.offset)} line{'s' if abs(shift.offset) > 1 else ''} further {direction}"
            text = f"about lines {shift.first}–{shift.last}: by their lengths, targets stand {away}"
            yield Finding(self.name, "fault", text, 1, [shift.first, shift.last], values=shift._asdict())


def shifts(lines: Ints, source: Ints, target: Ints) -> list[Shift]:
    """The stretches out of step, neighbouring blocks of one offset joined."""
    blocks = (len(lines) - 2 * FURTHEST) // BLOCK
    if blocks < 1:
        return []
    offsets = [0, *(sign * size for size in range(1, FURTHEST + 1) for sign in (1, -1))]
    inner = np.log(source[FURTHEST : FURTHEST + blocks * BLOCK])
    correlations = np.stack(
        [
            correlation(inner, np.log(target[FURTHEST + offset : FURTHEST + offset + blocks * BLOCK]))
            for offset in offsets
        ]
    )
    best = correlations.argmax(axis=0)
    z = np.arctanh(correlations.clip(-0.999, 0.999))
    top = np.arange(blocks)
    moved = (z[best, top] - z[0] > CLEAR) & (correlations[best, top] > STRONG)
    found: list[Shift] = []
    for block in np.flatnonzero(moved):
        start = FURTHEST + block * BLOCK
        first, last, offset = int(lines[start]), int(lines[start + BLOCK - 1]), offsets[best[block]]
        joins = found and found[-1].offset == offset and found[-1].last >= lines[start - 1]
        found.append(Shift(found.pop().first if joins else first, last, offset))
    return found


def correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson's r in each block; 0 where a side does not vary."""
    one, other = (values.reshape(-1, BLOCK) for values in (one, other))
    one, other = (values - values.mean(axis=1, keepdims=True) for values in (one, other))
    norm = np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))
    return np.divide((one * other).sum(axis=1), norm, out=np.zeros(len(norm)), where=norm > 1e-9)
