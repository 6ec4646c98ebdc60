"""Scores by the length of the source: where a model begins to lose long inputs."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from transduce.config import Spec
from transduce.errors import ConfigError, DataError
from transduce.metrics.base import Metric, Score, Split, build_metrics, split_words
from transduce.metrics.references import References, accepted


class Bucket(NamedTuple):
    """The lines whose sources have `shortest` to `longest` tokens, both included, and their scores."""

    shortest: int
    longest: int
    lines: int
    scores: dict[str, Score]


def measure_by_length(
    names: Iterable[str | Spec[Metric]] | None,
    lengths: Sequence[int],
    hypotheses: Sequence[str],
    references: References,
    tokenize: Split = split_words,
    *,
    bounds: Sequence[int] | None = None,
) -> list[Bucket]:
    """Scores each bucket of lines by every metric of `names`, as `measure` would score it alone.

    `lengths` counts the tokens of each line's source. `bounds` are the longest lengths of the buckets:
    [10, 20] makes 1–10, 11–20, and 21 to the longest of all; default `even_bounds`. Empty buckets are
    left out. A decline with length does not by itself prove a limit of storage: longer sentences differ
    in more than length, and BLEU of few lines is rough.
    Raises DataError and ConfigError as `measure` does, for lengths that do not fit and odd bounds too.
    """
    answers = accepted(hypotheses, references)
    _check(lengths, len(answers))
    edges = [0, *_to_edges(even_bounds(lengths) if bounds is None else bounds, max(lengths))]
    places = np.searchsorted(edges[1:], lengths)
    counted = [(metric, metric.statistics(hypotheses, answers)) for metric in build_metrics(names, tokenize)]
    buckets = []
    for place, (below, longest) in enumerate(pairwise(edges)):
        rows = np.flatnonzero(places == place).tolist()
        near = [answers[row] for row in rows]
        if near:
            scores = {metric.name: metric.score(statistics[rows], near) for metric, statistics in counted}
            shortest = min(below + 1, min(lengths[row] for row in rows))  # 0 where a source is empty
            buckets.append(Bucket(shortest, longest, len(near), scores))
    return buckets


def even_bounds(lengths: Sequence[int], width: int = 10) -> list[int]:
    """Bounds of equally wide buckets, the first from 1: 10, 20, … up to the longest length."""
    if width < 1:
        raise ConfigError(f"by_length: expected a width of at least 1; got {width}")
    return [*range(width, max(1, *lengths) + width, width)]


def quantile_bounds(lengths: Sequence[int], buckets: int = 4) -> list[int]:
    """Bounds of buckets with about as many lines each; fewer where many lines have one length."""
    if buckets < 1:
        raise ConfigError(f"by_length: expected at least 1 bucket; got {buckets}")
    shares = np.arange(1, buckets + 1) / buckets
    found = np.quantile(lengths, shares, method="inverted_cdf")
    return sorted({max(1, int(bound)) for bound in found})


def check_bounds(bounds: Sequence[int]) -> None:
    """Refuses bounds that make no buckets. Raises ConfigError."""
    if not bounds or any(low >= high for low, high in pairwise([0, *bounds])):
        raise ConfigError(f"by_length: expected ascending bounds of at least 1; got {[*bounds]}")


def _to_edges(bounds: Sequence[int], longest: int) -> list[int]:
    check_bounds(bounds)
    return [*bounds, longest] if longest > bounds[-1] else [*bounds]


def _check(lengths: Sequence[int], lines: int) -> None:
    if len(lengths) != lines:
        raise DataError(f"by_length: expected one source length per line; got {len(lengths)} for {lines}")
    if min(lengths) < 0:
        raise DataError(f"by_length: expected lengths of at least 0; got {min(lengths)}")
