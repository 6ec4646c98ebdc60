"""Learning-rate schedules: pure functions of where training stands, so a resumed run cannot restart one."""

import math
from abc import ABC, abstractmethod
from typing import NamedTuple, TypeVar

from transduce.config import Component
from transduce.errors import ConfigError

Number = TypeVar("Number", int, float)


class Moment(NamedTuple):
    """When an update is made: its number from 1, epochs done (with a fraction), and the plan's length.

    `reductions` counts how often the dev score has stalled for as long as the schedule allows.
    """

    update: int
    epochs: float
    updates: int
    reductions: int


class Schedule(Component, ABC):
    """Gives the factor on the optimizer's own learning rate for one update."""

    stalled_validations: int | None = None  # after so many without a new best, one more reduction

    @abstractmethod
    def factor(self, moment: Moment) -> float: ...


class Constant(Schedule, name="constant"):
    """The same rate throughout."""

    def factor(self, moment: Moment) -> float:
        return 1.0


class InverseSquareRoot(Schedule, name="inverse_sqrt"):
    """Rises in a line for `warmup` updates to the full rate, then falls as √(warmup / update)."""

    def __init__(self, *, warmup: int = 4000) -> None:
        self.warmup = at_least("warmup", warmup, 1)

    def factor(self, moment: Moment) -> float:
        return min(moment.update / self.warmup, math.sqrt(self.warmup / moment.update))


class Noam(Schedule, name="noam"):
    """width^-½ · min(n^-½, n · warmup^-3/2) (Vaswani et al. 2017, eq. 3); the optimizer's rate scales it."""

    def __init__(self, *, width: int = 512, warmup: int = 4000) -> None:
        self.width, self.warmup = at_least("width", width, 1), at_least("warmup", warmup, 1)

    def factor(self, moment: Moment) -> float:
        return self.width**-0.5 * min(moment.update**-0.5, moment.update * self.warmup**-1.5)


class Halving(Schedule, name="halving"):
    """Halved once `after` epochs are done, and again every `every` epochs.

    Luong et al. 2015: after 5 every 1 (with dropout after 8); Sutskever et al. 2014: after 5 every ½.
    """

    def __init__(self, *, after: float = 5.0, every: float = 1.0) -> None:
        self.after, self.every = at_least("after", after, 0.0), at_least("every", every, 1e-6)

    def factor(self, moment: Moment) -> float:
        if moment.epochs < self.after:
            return 1.0
        return 0.5 ** (1 + math.floor((moment.epochs - self.after) / self.every + 1e-9))


class Plateau(Schedule, name="plateau"):
    """Multiplied by `decay` whenever `patience` validations in a row have brought no new best."""

    def __init__(self, *, decay: float = 0.5, patience: int = 3, floor: float = 0.0) -> None:
        if not 0 < decay < 1 or not 0 <= floor < 1:
            raise ConfigError(f"train.schedule: expected decay, floor below 1; got {decay}, {floor}")
        self.decay, self.floor = decay, floor
        self.stalled_validations = at_least("patience", patience, 1)

    def factor(self, moment: Moment) -> float:
        return max(self.floor, self.decay**moment.reductions)


class Cosine(Schedule, name="cosine"):
    """Half a cosine from the full rate to none at the last update, after `warmup` updates that rise to it."""

    def __init__(self, *, warmup: int = 0) -> None:
        self.warmup = at_least("warmup", warmup, 0)

    def factor(self, moment: Moment) -> float:
        if moment.update < self.warmup:
            return moment.update / self.warmup
        done = (moment.update - self.warmup) / max(1, moment.updates - self.warmup)
        return 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


def at_least(name: str, value: Number, least: Number) -> Number:
    """Refuses a setting below its least value."""
    if not value >= least:
        raise ConfigError(f"train.schedule.{name}: expected at least {least}; got {value}")
    return value
