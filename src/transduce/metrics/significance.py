"""How far a score may be chance: bootstrap intervals, and the paired comparison of two systems.

A resample draws as many lines as the corpus has, with replacement. Its score follows from the sum of
the drawn lines' statistics, so text is read once, however many resamples there are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from transduce.config import Spec
from transduce.errors import ConfigError
from transduce.metrics.base import Metric, Score, Split, Statistics, build_metrics, split_words
from transduce.metrics.references import Answers, References, accepted

Values = Float[np.ndarray, " resamples"]


@dataclass(frozen=True)
class Bootstrap:
    """How resamples are drawn and read (Efron & Tibshirani 1993, ch. 13: percentile intervals).

    Equal seeds draw the same lines of every corpus of a size, hence pair all systems and metrics. The
    default draws what sacreBLEU draws. Raises ConfigError for values that cannot work.
    """

    resamples: int = 1000
    seed: int = 12345
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.resamples < 1 or self.seed < 0 or not 0 < self.level < 1:
            raise ConfigError(
                "bootstrap: expected resamples of at least 1, a seed of at least 0 and a level between "
                f"0 and 1; got {self.resamples}, {self.seed} and {self.level}"
            )

    def values(self, metric: Metric, statistics: Statistics) -> Values:
        """The metric's value of each resample of the lines."""
        generator, lines = np.random.default_rng(self.seed), len(statistics)
        drawn = (generator.integers(lines, size=lines) for _ in range(self.resamples))
        totals = (np.bincount(places, minlength=lines) @ statistics for places in drawn)
        return np.fromiter(map(metric.aggregate, totals), dtype=float, count=self.resamples)

    def bounds(self, values: Values) -> tuple[float, float]:
        """What lies between, once (1 − level) / 2 of the values are cut off at either end."""
        cut = int(self.resamples * (1 - self.level) / 2 + 1e-9)
        ordered = np.sort(values)
        return float(ordered[cut]), float(ordered[-1 - cut])

    def label(self, score: Score) -> str:
        """The score's signature, and how its interval was made."""
        return f"{score.signature}|bs:{self.resamples}|seed:{self.seed}|ci:{100 * self.level:g}%"


STANDARD = Bootstrap()


class Interval(NamedTuple):
    """A corpus score and the interval that resamples of the corpus leave it, in the metric's unit."""

    score: Score
    low: float
    high: float
    mean: float
    signature: str


class Comparison(NamedTuple):
    """Two systems on the same lines: d = first − second, in the metric's unit, and what it is worth.

    `won`: share of R resamples in which the first system scores strictly better; `tied`: equally. Koehn
    (2004) calls the first better at level 95 % if it wins 95 % of them. `low`, `high`: interval of d.
    `p_value`, two-sided: (#{b: |d_b − mean d_b| ≥ |d|} + 1) / (R + 1), how often resamples would differ
    as much if the systems were equal (Riezler & Maxwell 2005, bootstrap with shift; the 1s: Noreen 1989).
    sacreBLEU's p leaves the signs out before the mean, hence is about half of this, one-sided, where it
    is small; it calls equal systems significantly different.
    """

    first: Interval
    second: Interval
    difference: float
    low: float
    high: float
    won: float
    tied: float
    p_value: float


def confidence(
    names: Iterable[str | Spec[Metric]] | None,
    hypotheses: Sequence[str],
    references: References,
    tokenize: Split = split_words,
    bootstrap: Bootstrap = STANDARD,
) -> dict[str, Interval]:
    """The scores that `measure` gives, each with its confidence interval.

    It tells of the choice of test lines only, not of training: another seed there may move scores more.
    Raises DataError and ConfigError as `measure` does.
    """
    answers = accepted(hypotheses, references)
    return {
        metric.name: _interval(metric, hypotheses, answers, bootstrap)[0]
        for metric in build_metrics(names, tokenize)
    }


def compare(
    names: Iterable[str | Spec[Metric]] | None,
    first: Sequence[str],
    second: Sequence[str],
    references: References,
    tokenize: Split = split_words,
    bootstrap: Bootstrap = STANDARD,
) -> dict[str, Comparison]:
    """Paired bootstrap resampling (Koehn 2004) of two systems' outputs for the same lines.

    Raises DataError and ConfigError as `measure` does, for either system.
    """
    answers = accepted(first, references)
    accepted(second, references)
    return {
        metric.name: _compare(metric, first, second, answers, bootstrap)
        for metric in build_metrics(names, tokenize)
    }


def _interval(
    metric: Metric, hypotheses: Sequence[str], answers: Answers, bootstrap: Bootstrap
) -> tuple[Interval, Values]:
    statistics = metric.statistics(hypotheses, answers)
    score, values = metric.score(statistics, answers), bootstrap.values(metric, statistics)
    return Interval(score, *bootstrap.bounds(values), float(values.mean()), bootstrap.label(score)), values


def _compare(
    metric: Metric, first: Sequence[str], second: Sequence[str], answers: Answers, bootstrap: Bootstrap
) -> Comparison:
    (one, ones), (two, twos) = (_interval(metric, side, answers, bootstrap) for side in (first, second))
    difference, differences = one.score.value - two.score.value, ones - twos
    won = differences > 0 if metric.higher_is_better else differences < 0
    return Comparison(
        one,
        two,
        difference,
        *bootstrap.bounds(differences),
        won=float(won.mean()),
        tied=float((differences == 0).mean()),
        p_value=_p_value(difference, differences),
    )


def _p_value(difference: float, differences: Values) -> float:
    chance = np.abs(differences - differences.mean()) >= abs(difference)
    return float((chance.sum() + 1) / (len(differences) + 1))
