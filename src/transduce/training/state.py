"""Where training stands: everything the loop alone decides on."""

import math
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

Count = Annotated[int, Field(strict=True, ge=0)]
Real = Annotated[float, Field(strict=True)]


@dataclass
class TrainState:
    """Counts are of updates, epochs from 0; `position` is the number of this epoch's batches used."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    update: Count = 0
    epoch: Count = 0
    position: Count = 0
    best: Real | None = None
    best_loss: Real | None = None  # the dev loss beside it, which decides between equals
    best_update: Count = 0
    bad_validations: Count = 0  # since the best
    reductions: Count = 0  # of the learning rate, for dev scores that stalled
    finished: Annotated[bool, Field(strict=True)] = False
    due: Annotated[bool, Field(strict=True)] = False  # the validation of this update has still to be made
    skipped: Count = 0  # updates left out, for batches without a real target token
    scaler: dict[str, Any] | None = None  # of float16 gradients
    loss: Real = 0.0  # sums over target tokens since the last report
    correct: Count = 0
    tokens: Count = 0
    gradient_norm: Real = 0.0  # sum over updates since the last report
    updates: Count = 0

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

    @classmethod
    def of(cls, plain: Any) -> "TrainState":
        """What `plain` gave. Raises ValueError naming what cannot be."""
        try:
            return TypeAdapter(cls).validate_python(plain)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "state"
            raise ValueError(f"{where}: {first['msg']}, got {first['input']!r}") from None

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def lower(loss: float | None, best: float | None) -> bool:
    """Whether both are known, and the first is lower."""
    return loss is not None and best is not None and loss < best
