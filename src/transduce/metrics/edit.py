"""Character and word error rate: edits per hundred reference units."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import final

import numpy as np
from rapidfuzz.distance import Levenshtein

from transduce.metrics.base import Level, Metric, Statistics, Totals, split_words

_LIBRARY = f"rapidfuzz:{version('rapidfuzz')}"


@final
class CharacterErrorRate(Metric, name="cer"):
    """Edits per hundred reference code points, spaces included, in per cent.

    100 · Σ_i lev(h_i, r_i) / Σ_i |r_i| (Levenshtein 1966), summed over the corpus before dividing; no
    normalisation, so é and e + U+0301 differ. r_i is the accepted answer fewest edits away; of several
    such, the longest. More edits than code points give more than 100: nothing is clipped. References
    without any code point count as one: 100 · insertions (jiwer 4's convention).
    """

    higher_is_better = False

    def statistics(self, hypotheses: Sequence[str], answers: Sequence[Sequence[str]]) -> Statistics:
        """Columns: edits, reference code points."""
        return _edits(hypotheses, answers, str)

    def aggregate(self, totals: Totals) -> float:
        return _rate(totals)

    def signature(self, nrefs: str, level: Level) -> str:
        return f"{self.name}|nrefs:{nrefs}|unit:code_point|level:{level}|{_LIBRARY}"


@final
class WordErrorRate(Metric, name="wer"):
    """Edits per hundred reference words, in per cent; only U+0020 separates words (`split_words`).

    Otherwise as `CharacterErrorRate`. Over phones separated by spaces this is the phone error rate.
    """

    higher_is_better = False

    def statistics(self, hypotheses: Sequence[str], answers: Sequence[Sequence[str]]) -> Statistics:
        """Columns: edits, reference words."""
        return _edits(hypotheses, answers, split_words)

    def aggregate(self, totals: Totals) -> float:
        return _rate(totals)

    def signature(self, nrefs: str, level: Level) -> str:
        return f"{self.name}|nrefs:{nrefs}|unit:word|split:space|level:{level}|{_LIBRARY}"


def _edits(
    hypotheses: Sequence[str], answers: Sequence[Sequence[str]], split: Callable[[str], Sequence[str]]
) -> Statistics:
    """Edits to the closest answer of each line, and its units."""
    pairs = zip(hypotheses, answers, strict=True)
    return np.array([_closest(split(line), [*map(split, near)]) for line, near in pairs], dtype=float)


def _closest(hypothesis: Sequence[str], answers: Sequence[Sequence[str]]) -> tuple[int, int]:
    counts = [(Levenshtein.distance(hypothesis, answer), len(answer)) for answer in answers]
    return min(counts, key=lambda count: (count[0], -count[1]))


def _rate(totals: Totals) -> float:
    edits, units = totals.tolist()
    return 100 * edits / max(1, units)
