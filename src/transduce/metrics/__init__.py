"""Metrics: one figure for a corpus of hypotheses, and the signature that says how it was made."""

from transduce.config import discover
from transduce.metrics.base import Metric, Score, measure, split_words
from transduce.metrics.checks import check_lengths, warnings_for

discover(__name__, __path__)

__all__ = ["Metric", "Score", "check_lengths", "measure", "split_words", "warnings_for"]
