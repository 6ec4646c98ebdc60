"""Exact match and token accuracy: fractions, of what was decoded freely."""

from collections.abc import Sequence
from typing import final

import numpy as np

from transduce.metrics.base import Level, Metric, Statistics, Totals, split_words


@final
class ExactMatch(Metric, name="exact_match"):
    """Fraction of lines, 0–1, whose hypothesis is an accepted answer, code point for code point.

    #{i: h_i ∈ R_i} / #lines; nothing is stripped, folded or normalised first. The sequence accuracy of
    the transduction literature; 100·(1 − exact match) is what grapheme-to-phoneme tables call WER.
    """

    higher_is_better = True

    def statistics(self, hypotheses: Sequence[str], answers: Sequence[Sequence[str]]) -> Statistics:
        """Columns: 1 if equal, 1."""
        pairs = zip(hypotheses, answers, strict=True)
        return np.array([(hypothesis in line, 1) for hypothesis, line in pairs], dtype=float)

    def aggregate(self, totals: Totals) -> float:
        equal, lines = totals.tolist()
        return equal / lines

    def signature(self, nrefs: str, level: Level) -> str:
        return f"{self.name}|nrefs:{nrefs}|level:{level}|unit:line|case:mixed|norm:none"


@final
class TokenAccuracy(Metric, name="token_accuracy"):
    """Fraction of reference tokens, 0–1, that the hypothesis has at the same position.

    Σ_i #{t: h_it = r_it} / Σ_i |r_i|, summed over the corpus before dividing; EOS is not counted, and
    tokens beyond the reference cost nothing. r_i is the accepted answer with the highest fraction of its
    own; of several such, the longest. Free-running: each token follows the model's own output,
    unlike `teacher_forced_accuracy` of the training log. References without a token score 1 if the
    hypotheses have none either, else 0.
    """

    higher_is_better = True

    def statistics(self, hypotheses: Sequence[str], answers: Sequence[Sequence[str]]) -> Statistics:
        """Columns: equal tokens, reference tokens, hypothesis tokens."""
        return np.array([self._line(*pair) for pair in zip(hypotheses, answers, strict=True)], dtype=float)

    def _line(self, hypothesis: str, answers: Sequence[str]) -> tuple[int, int, int]:
        found = self.tokenize(hypothesis)
        counts = [_matches(found, self.tokenize(answer)) for answer in answers]
        return max(counts, key=lambda count: (_fraction(*count), count[1]))

    def aggregate(self, totals: Totals) -> float:
        return _fraction(*totals.tolist())

    def signature(self, nrefs: str, level: Level) -> str:
        split = "space" if self.tokenize is split_words else "target"
        return f"{self.name}|nrefs:{nrefs}|level:{level}|eos:no|forced:no|tok:{split}"


def _matches(found: Sequence[str], wanted: Sequence[str]) -> tuple[int, int, int]:
    equal = sum(a == b for a, b in zip(found, wanted, strict=False))
    return equal, len(wanted), len(found)


def _fraction(equal: int | float, wanted: int | float, found: int | float) -> float:
    return equal / wanted if wanted else float(not found)
