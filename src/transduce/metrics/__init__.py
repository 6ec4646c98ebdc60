"""Metrics: one figure for a corpus of hypotheses, and the signature that says how it was made."""

from transduce.config import discover
from transduce.metrics.base import Metric, Score, measure, split_words
from transduce.metrics.by_length import Bucket, even_bounds, measure_by_length, quantile_bounds
from transduce.metrics.checks import warnings_for
from transduce.metrics.references import References, by_line, check_lengths
from transduce.metrics.sentence import sentence_scores
from transduce.metrics.significance import Bootstrap, Comparison, Interval, compare, confidence

discover(__name__, __path__)

__all__ = [
    "Bootstrap",
    "Bucket",
    "Comparison",
    "Interval",
    "Metric",
    "References",
    "Score",
    "by_line",
    "check_lengths",
    "compare",
    "confidence",
    "even_bounds",
    "measure",
    "measure_by_length",
    "quantile_bounds",
    "sentence_scores",
    "split_words",
    "warnings_for",
]
