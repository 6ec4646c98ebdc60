"""chrF, as sacreBLEU computes it."""

from collections.abc import Sequence
from typing import final

from sacrebleu.metrics.chrf import CHRF

from transduce.errors import ConfigError
from transduce.metrics.base import Level, Metric, Split, Statistics, Totals, split_words
from transduce.metrics.sacre import compute, extract, sign


@final
class Chrf(Metric, name="chrf"):
    """chrF2, 0–100: F-score of character n-grams, recall weighing twice (Popović 2015, eq. 1; 2016).

    100 · (1 + β²) P R / (β² P + R), β = 2; P and R are corpus-level n-gram precision and recall
    averaged over n ≤ `char_order`. `word_order: 2` adds word n-grams (chrF++, Popović 2017).
    Of several accepted answers each line is held against the first that gives it the highest F.
    Spaces are left out of the n-grams unless `whitespace` is on, so "thecat" equals "the cat".
    Orders that one side lacks are left out; `eps_smoothing` counts them, as Moses and NLTK do.
    All of this stands in the signature: case, eff, nc, nw, space, version. Empty output scores 0, and so
    do empty references. Raises ConfigError for an impossible order.
    """

    higher_is_better = True

    def __init__(
        self,
        tokenize: Split = split_words,
        *,
        char_order: int = 6,
        word_order: int = 0,
        whitespace: bool = False,
        lowercase: bool = False,
        eps_smoothing: bool = False,
    ) -> None:
        super().__init__(tokenize)
        if char_order < 1 or word_order < 0:
            got = f"got {char_order} and {word_order}"
            raise ConfigError(f"chrf: expected char_order of at least 1 and word_order of at least 0; {got}")
        self.scorer = CHRF(
            char_order=char_order,
            word_order=word_order,
            whitespace=whitespace,
            lowercase=lowercase,
            eps_smoothing=eps_smoothing,
        )

    def statistics(self, hypotheses: Sequence[str], answers: Sequence[Sequence[str]]) -> Statistics:
        """Columns: n-grams of hypothesis, reference and both, for each order."""
        return extract(self.scorer, hypotheses, answers)

    def aggregate(self, totals: Totals) -> float:
        return min(compute(self.scorer, totals), 100.0)

    def signature(self, nrefs: str, level: Level) -> str:
        return str(sign(self.scorer, nrefs, level))
