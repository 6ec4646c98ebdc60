"""The metric contract, and the one function by which validation and evaluate score a corpus."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from transduce.config import Component, Spec
from transduce.errors import ConfigError, unknown
from transduce.metrics.references import References, accepted, check_lengths, count_references

Split = Callable[[str], list[str]]
Level = Literal["corpus", "sentence"]
Statistics = Float[np.ndarray, "lines columns"]
Totals = Float[np.ndarray, " columns"]


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
    """Scores a corpus of hypotheses, one per line of references; an empty one is scored, never dropped.

    A line may have several accepted answers; each metric says what it makes of them. A hypothesis equal
    to any of them scores best. A metric counts each line once (`statistics`) and knows the value of any
    lines by the sum of their counts (`aggregate`): a corpus, one sentence, a bucket, a resample.
    `tokenize` is the target tokenizer's splitting of a text into tokens.
    """

    higher_is_better: ClassVar[bool]
    sentence_options: ClassVar[Mapping[str, Any]] = {}  # what one sentence needs and a corpus does not

    def __init__(self, tokenize: Split = split_words) -> None:
        self.tokenize = tokenize
        self.zero_notes: dict[int, str] = {}  # what to remark where a column's total is 0

    def __call__(self, hypotheses: Sequence[str], references: References) -> Score:
        """Scores the whole corpus at once, after `check_lengths`, whose DataError it passes on."""
        answers = accepted(hypotheses, references)
        return self.score(self.statistics(hypotheses, answers), answers)

    def score(
        self, statistics: Statistics, answers: Sequence[Sequence[str]], level: Level = "corpus"
    ) -> Score:
        """Scores those lines of a corpus whose statistics and answers are given."""
        totals = statistics.sum(0)
        notes = [note for column, note in self.zero_notes.items() if not totals[column]]
        signature = self.signature(count_references(answers), level)
        return Score(self.aggregate(totals), self.name, signature, notes[0] if notes else None)

    @abstractmethod
    def statistics(self, hypotheses: Sequence[str], answers: Sequence[Sequence[str]]) -> Statistics:
        """What each line adds to the totals; `answers` as `accepted` gives them, not checked again."""

    @abstractmethod
    def aggregate(self, totals: Totals) -> float:
        """The value, in the metric's unit, of lines whose statistics sum to `totals`."""

    @abstractmethod
    def signature(self, nrefs: str, level: Level) -> str:
        """How a value was made, from `nrefs` answers per line (a number or `var`)."""


def measure(
    names: Iterable[str | Spec[Metric]] | None,
    hypotheses: Sequence[str],
    references: References,
    tokenize: Split = split_words,
) -> dict[str, Score]:
    """Scores a corpus by every metric of `names` (None: all known ones), keyed by the metric's name.

    A `Spec` in place of a name sets the metric's options.
    Raises DataError as `check_lengths` does, ConfigError for a name that no metric has.
    """
    check_lengths(hypotheses, references)
    return {metric.name: metric(hypotheses, references) for metric in build_metrics(names, tokenize)}


def build_metrics(names: Iterable[str | Spec[Metric]] | None, tokenize: Split) -> list[Metric]:
    """The metrics of `names` (None: all known ones), as `measure` takes them."""
    return [to_spec(name).build(tokenize) for name in (Metric.family if names is None else names)]


def to_spec(chosen: str | Spec[Metric]) -> Spec[Metric]:
    """A metric by name as a `Spec`; ConfigError for a name that no metric has."""
    if isinstance(chosen, Spec):
        return chosen
    if chosen not in Metric.family:
        raise ConfigError(f"metrics: {unknown('metric', chosen, Metric.family)}")
    return Spec(Metric, chosen)
