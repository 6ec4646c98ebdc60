"""Translation edit rate, as sacreBLEU computes it."""

import functools
from collections.abc import Sequence
from typing import Any, final

import numpy as np
from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics import lib_ter
from sacrebleu.metrics.ter import TER

from transduce.metrics.base import Level, Metric, Split, Statistics, Totals, split_words
from transduce.metrics.sacre import compute, sign

_TERCOM: Any = lib_ter  # where its annotations say lists of words, any sequence will do
_SURE = 2 * (lib_ter._BEAM_WIDTH - 2)


@final
class Ter(Metric, name="ter"):
    """TER: edits per hundred reference words, where moving a run of words is one edit (Snover et al. 2006).

    100 · Σ_i min_r edits(h_i, r) / Σ_i mean_r |r|: the fewest edits to any accepted answer, over the mean
    length of all of them; insertions, deletions, substitutions and shifts cost 1 each. Shifts are found
    greedily, by Tercom's rules. More edits than words give more than 100. References without a word
    score 100, or 0 if the hypotheses have none either.
    Lower-cased unless `case_sensitive`; `normalized` splits punctuation off, `no_punct` drops it, and
    `asian_support` does so for Chinese and Japanese too. White space separates words.
    """

    higher_is_better = False

    def __init__(
        self,
        tokenize: Split = split_words,
        *,
        normalized: bool = False,
        no_punct: bool = False,
        asian_support: bool = False,
        case_sensitive: bool = False,
    ) -> None:
        super().__init__(tokenize)
        self.scorer = TER(
            normalized=normalized,
            no_punct=no_punct,
            asian_support=asian_support,
            case_sensitive=case_sensitive,
        )

    def statistics(self, hypotheses: Sequence[str], answers: Sequence[Sequence[str]]) -> Statistics:
        """Columns: edits, mean reference words."""
        return np.array([self._line(*pair) for pair in zip(hypotheses, answers, strict=True)], dtype=float)

    def _line(self, hypothesis: str, answers: Sequence[str]) -> tuple[int, float]:
        texts = (hypothesis, *answers)
        found, *wanted = (tuple(self.scorer._preprocess_segment(text).split()) for text in texts)
        edits = min(_remembered_edits(found, words) for words in wanted)
        return edits, sum(map(len, wanted)) / len(wanted)

    def aggregate(self, totals: Totals) -> float:
        return compute(self.scorer, totals)

    def signature(self, nrefs: str, level: Level) -> str:
        return str(sign(self.scorer, nrefs, level))


@functools.lru_cache(maxsize=20_000)  # the same lines are scored by bucket, by sentence and in comparison
def _remembered_edits(hypothesis: tuple[str, ...], reference: tuple[str, ...]) -> int:
    return count_edits(hypothesis, reference)


def count_edits(hypothesis: Sequence[str], reference: Sequence[str]) -> int:
    """The edits and shifts that sacreBLEU's search finds, some fifty times sooner for long lines."""
    if not reference:
        return len(hypothesis)
    letters = {word: chr(0x10000 + n) for n, word in enumerate({*hypothesis, *reference})}
    words, wanted = ("".join(map(letters.__getitem__, side)) for side in (hypothesis, reference))
    distance, shifts, tried = _Distance(wanted), 0, 0
    while True:
        distance.aligned = words
        gain, shifted, tried = _TERCOM._shift(words, wanted, distance, tried)
        if gain <= 0 or tried >= _TERCOM._MAX_SHIFT_CANDIDATES:
            return shifts + distance(words)[0]
        words, shifts = shifted, shifts + 1


class _Distance:
    """Edit distance to one reference, and the trace of edits for `aligned`, of which shifts start.

    sacreBLEU searches a band of ±25 around the diagonal, at a cost. A path of d edits between lengths that
    differ by k strays by (d + k) / 2 at most: where this stays inside, the plain distance is the same.
    """

    def __init__(self, reference: str) -> None:
        self.reference, self.aligned = reference, ""
        self.banded = _TERCOM.BeamEditDistance(reference)

    def __call__(self, words: str) -> tuple[int, str]:
        if words != self.aligned:
            edits = Levenshtein.distance(words, self.reference)
            if edits + abs(len(words) - len(self.reference)) <= _SURE:
                return edits, ""
        return self.banded(words)
