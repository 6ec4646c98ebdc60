"""chrF, as sacreBLEU computes it."""

from collections.abc import Sequence
from typing import final

from sacrebleu.metrics.chrf import CHRF

from transduce.errors import ConfigError
from transduce.metrics.base import Metric, Score, Split, split_words
from transduce.metrics.checks import check_lengths


@final
class Chrf(Metric, name="chrf"):
    """chrF2, 0–100: F-score of character n-grams, recall weighing twice (Popović 2015, eq. 1; 2016).

    100 · (1 + β²) P R / (β² P + R), β = 2; P and R are corpus-level n-gram precision and recall
    averaged over n ≤ `char_order`. `word_order: 2` adds word n-grams (chrF++, Popović 2017).
    Spaces are left out of the n-grams unless `whitespace` is on, so "thecat" equals "the cat".
    Orders that one side lacks are left out; `eps_smoothing` counts them, as Moses and NLTK do.
    All of this stands in the signature: case, eff, nc, nw, space, version. Empty output scores 0, and so
    do empty references. Raises DataError as `check_lengths` does; ConfigError for an impossible order.
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

    def __call__(self, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        check_lengths(hypotheses, references)
        value = self.scorer.corpus_score(hypotheses, [references]).score
        return Score(min(value, 100.0), self.name, str(self.scorer.get_signature()))
