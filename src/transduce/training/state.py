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
    best_update: int = 0
    bad_validations: int = 0  # since the best
    reductions: int = 0  # of the learning rate, for dev scores that stalled
    finished: bool = False
    loss: float = 0.0  # sums over target tokens since the last report
    correct: int = 0
    tokens: int = 0

    def improved(self, value: float, *, higher_is_better: bool) -> bool:
        """Takes in a validation's value; says whether it is the best so far. NaN never is."""
        better = self.best is None or (value > self.best if higher_is_better else value < self.best)
        if better and not math.isnan(value):
            self.best, self.best_update, self.bad_validations = value, self.update, 0
            return True
        self.bad_validations += 1
        return False

    def plain(self) -> dict[str, Any]:
        return asdict(self)
