"""The metric contract, and the one function by which validation and evaluate score a corpus."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple

from transduce.config import Component, Spec
from transduce.errors import ConfigError, unknown
from transduce.metrics.checks import check_lengths

Split = Callable[[str], list[str]]


class Score(NamedTuple):
    """One figure of a corpus, in its metric's unit, and how it was made.

    Two values may be compared only under equal signatures; `note` remarks on what makes this one odd.
    """

    value: float
    name: str
    signature: str
    note: str | None = None


def split_words(text: str) -> list[str]:
    """The words of `text`: only U+0020 separates them, runs of it count as one, edges as none."""
    return [word for word in text.split(" ") if word]


class Metric(Component, ABC):
    """Scores a corpus of hypotheses, one per reference line; an empty one is scored, never dropped.

    Identical texts score best. `tokenize` is the target tokenizer's splitting of a text into tokens.
    """

    higher_is_better: ClassVar[bool]

    def __init__(self, tokenize: Split = split_words) -> None:
        self.tokenize = tokenize

    @abstractmethod
    def __call__(self, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        """Scores the whole corpus at once, after `check_lengths`, whose DataError it passes on."""


def measure(
    names: Iterable[str | Spec[Metric]] | None,
    hypotheses: Sequence[str],
    references: Sequence[str],
    tokenize: Split = split_words,
) -> dict[str, Score]:
    """Scores a corpus by every metric of `names` (None: all known ones), keyed by the metric's name.

    A `Spec` in place of a name sets the metric's options.
    Raises DataError as `check_lengths` does, ConfigError for a name that no metric has.
    """
    check_lengths(hypotheses, references)
    chosen = Metric.family if names is None else names
    metrics = [_build(metric, tokenize) for metric in chosen]
    return {metric.name: metric(hypotheses, references) for metric in metrics}


def _build(chosen: str | Spec[Metric], tokenize: Split) -> Metric:
    if isinstance(chosen, Spec):
        return chosen.build(tokenize)
    if chosen not in Metric.family:
        raise ConfigError(f"metrics: {unknown('metric', chosen, Metric.family)}")
    return Metric.family[chosen](tokenize)
