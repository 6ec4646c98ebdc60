"""Character and word error rate: edits per hundred reference units."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import final

from rapidfuzz.distance import Levenshtein

from transduce.metrics.base import Metric, Score, split_words
from transduce.metrics.checks import check_lengths

_LIBRARY = f"rapidfuzz:{version('rapidfuzz')}"


@final
class CharacterErrorRate(Metric, name="cer"):
    """Edits per hundred reference code points, spaces included, in per cent.

    100 · Σ_i lev(h_i, r_i) / Σ_i |r_i| (Levenshtein 1966), summed over the corpus before dividing; no
    normalisation, so é and e + U+0301 differ. More edits than code points give more than 100: nothing is
    clipped. References without any code point count as one: 100 · insertions (jiwer 4's convention).
    Raises DataError as `check_lengths` does.
    """

    higher_is_better = False

    def __call__(self, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        check_lengths(hypotheses, references)
        value = _error_rate(hypotheses, references)
        return Score(value, self.name, f"{self.name}|unit:code_point|level:corpus|{_LIBRARY}")


@final
class WordErrorRate(Metric, name="wer"):
    """Edits per hundred reference words, in per cent; only U+0020 separates words (`split_words`).

    Otherwise as `CharacterErrorRate`. Over phones separated by spaces this is the phone error rate.
    """

    higher_is_better = False

    def __call__(self, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        check_lengths(hypotheses, references)
        value = _error_rate([*map(split_words, hypotheses)], [*map(split_words, references)])
        return Score(value, self.name, f"{self.name}|unit:word|split:space|level:corpus|{_LIBRARY}")


def _error_rate(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """Edits per hundred units of all references together."""
    edits = sum(map(Levenshtein.distance, hypotheses, references))
    return 100 * edits / max(1, sum(map(len, references)))
