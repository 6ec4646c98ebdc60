"""Exact match and token accuracy: fractions, of what was decoded freely."""

from collections.abc import Sequence
from typing import final

from transduce.metrics.base import Metric, Score, split_words
from transduce.metrics.checks import check_lengths


@final
class ExactMatch(Metric, name="exact_match"):
    """Fraction of lines, 0–1, whose hypothesis is the reference, code point for code point.

    #{i: h_i = r_i} / #lines; nothing is stripped, folded or normalised first. The sequence accuracy of
    the transduction literature; 100·(1 − exact match) is what grapheme-to-phoneme tables call WER.
    Raises DataError as `check_lengths` does.
    """

    higher_is_better = True

    def __call__(self, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        check_lengths(hypotheses, references)
        pairs = zip(hypotheses, references, strict=True)
        equal = sum(1 for hypothesis, reference in pairs if hypothesis == reference)
        return Score(equal / len(references), self.name, f"{self.name}|unit:line|case:mixed|norm:none")


@final
class TokenAccuracy(Metric, name="token_accuracy"):
    """Fraction of reference tokens, 0–1, that the hypothesis has at the same position.

    Σ_i #{t: h_it = r_it} / Σ_i |r_i|, summed over the corpus before dividing; EOS is not counted, and
    tokens beyond the reference cost nothing. Free-running: each token follows the model's own output,
    unlike `teacher_forced_accuracy` of the training log. References without a token score 1 if the
    hypotheses have none either, else 0. Raises DataError as `check_lengths` does.
    """

    higher_is_better = True

    def __call__(self, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        check_lengths(hypotheses, references)
        found = [self.tokenize(hypothesis) for hypothesis in hypotheses]
        wanted = [self.tokenize(reference) for reference in references]
        pairs = zip(found, wanted, strict=True)
        equal = sum(a == b for pair in pairs for a, b in zip(*pair, strict=False))
        total = sum(map(len, wanted))
        value = equal / total if total else float(not any(found))
        split = "space" if self.tokenize is split_words else "target"
        return Score(value, self.name, f"{self.name}|level:corpus|eos:no|forced:no|tok:{split}")
