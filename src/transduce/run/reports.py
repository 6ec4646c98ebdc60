"""What an evaluation says of outputs: each report adds its part to the object that `--json` prints."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from transduce.errors import DataError
from transduce.metrics import (
    Interval,
    Metric,
    Score,
    confidence,
    measure_by_length,
    sentence_scores,
)
from transduce.metrics.by_length import check_bounds
from transduce.run.outputs import ModelOutputs, Names, Outputs

Report = Callable[[Outputs], dict[str, Any]]
ModelReport = Callable[[ModelOutputs], dict[str, Any]]  # any Report is one


def plain_scores(scores: dict[str, Score]) -> dict[str, Any]:
    """Scores as JSON holds them: value and signature, and a note where there is one."""
    return {name: _plain(score) for name, score in scores.items()}


def _plain(score: Score) -> dict[str, Any]:
    plain = {"value": score.value, "signature": score.signature}
    return plain | ({"note": score.note} if score.note else {})


@dataclass(frozen=True)
class Scores:
    """`metrics`: the corpus scores."""

    metrics: Names = None

    def __call__(self, outputs: Outputs) -> dict[str, Any]:
        return {"metrics": plain_scores(outputs.measure(self.metrics))}


@dataclass(frozen=True)
class Intervals:
    """`metrics`: the corpus scores, each with `low` and `high` of its bootstrap interval."""

    metrics: Names = None

    def __call__(self, outputs: Outputs) -> dict[str, Any]:
        found = confidence(self.metrics, outputs.hypotheses, outputs.answers, outputs.tokenize)
        return {"metrics": {name: plain_interval(interval) for name, interval in found.items()}}


def plain_interval(interval: Interval) -> dict[str, Any]:
    bounds = {"low": interval.low, "high": interval.high, "signature": interval.signature}
    return _plain(interval.score) | bounds


@dataclass(frozen=True)
class ByLength:
    """`by_length`: the scores of each bucket of source lengths; `bounds` as for `measure_by_length`."""

    metrics: Names = None
    bounds: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if self.bounds is not None:
            check_bounds(self.bounds)

    def __call__(self, outputs: Outputs) -> dict[str, Any]:
        if outputs.lengths is None:
            raise DataError("by_length: expected the sources of the hypotheses; got none")
        lines = (outputs.lengths, outputs.hypotheses, outputs.answers, outputs.tokenize)
        buckets = measure_by_length(self.metrics, *lines, bounds=self.bounds)
        return {
            "by_length": [
                {
                    "shortest": bucket.shortest,
                    "longest": bucket.longest,
                    "lines": bucket.lines,
                    "metrics": plain_scores(bucket.scores),
                }
                for bucket in buckets
            ]
        }


@dataclass(frozen=True)
class Sentences:
    """`sentences`: each line with its texts and its own scores, labelled `level:sentence`."""

    metrics: Names = None

    def __call__(self, outputs: Outputs) -> dict[str, Any]:
        lines = (outputs.hypotheses, outputs.answers, outputs.tokenize)
        names = Metric.family if self.metrics is None else self.metrics
        columns = [sentence_scores(name, *lines) for name in names]
        sources = outputs.sources or [None] * len(outputs.hypotheses)
        scores = zip(*columns, strict=True)
        rows = zip(outputs.lines, sources, outputs.hypotheses, outputs.answers, scores, strict=True)
        return {
            "sentences": [
                {
                    "line": line,
                    "source": source,
                    "hypothesis": hypothesis,
                    "references": list(answers),
                    "scores": plain_scores({score.name: score for score in scores}),
                }
                for line, source, hypothesis, answers, scores in rows
            ]
        }
