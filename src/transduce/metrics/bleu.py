"""BLEU, as sacreBLEU computes it."""

from collections.abc import Sequence
from typing import ClassVar, Literal, final

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from transduce.errors import ConfigError
from transduce.metrics.base import Level, Metric, Split, Statistics, Totals, split_words
from transduce.metrics.sacre import compute, extract, sign

Tokenization = Literal["13a", "intl", "zh", "char", "none", "ja-mecab", "ko-mecab"]
Smoothing = Literal["exp", "floor", "add-k", "none"]
STANDARD_ORDER = 4


@final
class Bleu(Metric, name="bleu"):
    """Corpus BLEU, 0–100, of detokenised text (Papineni et al. 2002, eq. 1–3; Post 2018).

    100 · BP · exp(Σ_n log p_n / N), n ≤ N = 4: n-gram matches clipped by the reference's counts and
    summed over the corpus before dividing; BP = 1 if c > r else exp(1 − r/c) over corpus lengths.
    Of several accepted answers, an n-gram is clipped by the highest count it has in any of them, and r
    adds up the length closest to the hypothesis; of two as close, the shorter.
    Empty output, or references without a token, score 0. A corpus without any 4-gram scores 0 by this
    definition, and the note says so; `effective_order` leaves such orders out.
    `smooth_method` (Chen & Cherry 2014): exp and floor mend orders that have n-grams but no match.
    `tokenize` is sacreBLEU's; it splits both sides and has nothing to do with the model's tokenizer.
    Raises ConfigError for options that cannot work.
    """

    higher_is_better = True
    sentence_options: ClassVar = {"effective_order": True}

    def __init__(
        self,
        split: Split = split_words,
        *,
        tokenize: Tokenization = "13a",
        lowercase: bool = False,
        smooth_method: Smoothing = "exp",
        smooth_value: float | None = None,
        effective_order: bool = False,
        max_ngram_order: int = STANDARD_ORDER,
    ) -> None:
        super().__init__(split)
        if max_ngram_order < 1:
            raise ConfigError(f"bleu.max_ngram_order: expected at least 1; got {max_ngram_order}")
        _check_smoothing(smooth_method, smooth_value)
        try:
            self.scorer = BLEU(
                tokenize=tokenize,
                lowercase=lowercase,
                smooth_method=smooth_method,
                smooth_value=smooth_value,
                effective_order=effective_order,
                max_ngram_order=max_ngram_order,
                force=True,  # sacreBLEU's own warning waits for 100 lines: `warnings_for` does not
            )
        except RuntimeError:
            raise _not_installed(tokenize) from None
        if not effective_order:
            self.zero_notes = _shortness(max_ngram_order)

    def statistics(self, hypotheses: Sequence[str], answers: Sequence[Sequence[str]]) -> Statistics:
        """Columns: both lengths, n-gram matches, hypothesis n-grams; 1 if an answer has the last order."""
        order = self.scorer.max_ngram_order
        reached = [any(self._length(answer) >= order for answer in line) for line in answers]
        return np.column_stack([extract(self.scorer, hypotheses, answers), reached])

    def _length(self, line: str) -> int:
        return len(self.scorer._preprocess_segment(line).split())  # cached by sacreBLEU's tokenizers

    def aggregate(self, totals: Totals) -> float:
        return min(compute(self.scorer, totals[:-1]), 100.0)  # sacreBLEU: 100.00000000000004

    def signature(self, nrefs: str, level: Level) -> str:
        signature = sign(self.scorer, nrefs, level)
        if self.scorer.max_ngram_order != STANDARD_ORDER:  # sacreBLEU leaves it out
            signature.update("order", self.scorer.max_ngram_order)
        return str(signature)


def _shortness(order: int) -> dict[int, str]:
    """What to say where no line of a side has an n-gram of the last order, by the column that shows it."""
    last = f"has {order} token{'s' * (order != 1)}"
    note = f"corpus too short for {order}-gram BLEU: no"
    return {2 * order + 2: f"{note} reference {last}", 2 * order + 1: f"{note} hypothesis {last}"}


def _check_smoothing(method: str, value: float | None) -> None:
    if value is None:
        return
    if method not in ("floor", "add-k"):
        raise ConfigError(f"bleu.smooth_value: expected with smooth_method floor or add-k; got {method!r}")
    if not 0 < value < float("inf"):
        raise ConfigError(f"bleu.smooth_value: expected above 0 and finite; got {value}")


def _not_installed(tokenize: Tokenization) -> ConfigError:
    """The error for a splitting that needs packages of its own, with the line that installs them."""
    line = f"pip install 'sacrebleu[{tokenize.removesuffix('-mecab')}]'"
    return ConfigError(f"bleu.tokenize: {tokenize!r} needs packages that are not installed: {line}")
