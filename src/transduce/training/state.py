"""Where training stands: everything the loop alone decides on."""

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class TrainState:
    """Counts are of updates, epochs from 0; `position` is the number of this epoch's batches used."""

    update: int = 0
    epoch: int = 0
    position: int = 0
    best: float | None = None
    best_loss: float | None = None  # the dev loss beside it, which decides between equals
    best_update: int = 0
    bad_validations: int = 0  # since the best
    reductions: int = 0  # of the learning rate, for dev scores that stalled
    finished: bool = False
    skipped: int = 0  # updates left out, for batches without a real target token
    scaler: dict[str, Any] | None = None  # of float16 gradients
    loss: float = 0.0  # sums over target tokens since the last report
    correct: int = 0
    tokens: int = 0
    gradient_norm: float = 0.0  # sum over updates since the last report
    updates: int = 0

    def improved(self, value: float, *, higher_is_better: bool, loss: float | None = None) -> bool:
        """Takes in a validation's value; says whether it makes the best model so far. NaN never does.

        Among equal values the lower dev loss is better, but only a better value renews the patience.
        """
        renewed = self.best is None or (value > self.best if higher_is_better else value < self.best)
        renewed = renewed and not math.isnan(value)
        self.bad_validations = 0 if renewed else self.bad_validations + 1
        if not renewed and not (value == self.best and lower(loss, self.best_loss)):
            return False
        self.best, self.best_loss, self.best_update = value, loss, self.update
        return True

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def lower(loss: float | None, best: float | None) -> bool:
    """Whether both are known, and the first is lower."""
    return loss is not None and best is not None and loss < best
