"""BLEU, as sacreBLEU computes it."""

import functools
from collections.abc import Sequence
from typing import Literal, final

from sacrebleu.metrics.bleu import BLEU

from transduce.errors import ConfigError
from transduce.metrics.base import Metric, Score, Split, split_words
from transduce.metrics.checks import check_lengths

Tokenization = Literal["13a", "intl", "zh", "char", "none", "ja-mecab", "ko-mecab"]
Smoothing = Literal["exp", "floor", "add-k", "none"]
STANDARD_ORDER = 4


@final
class Bleu(Metric, name="bleu"):
    """Corpus BLEU, 0–100, of detokenised text (Papineni et al. 2002, eq. 1–3; Post 2018).

    100 · BP · exp(Σ_n log p_n / N), n ≤ N = 4: n-gram matches clipped by the reference's counts and
    summed over the corpus before dividing; BP = 1 if c > r else exp(1 − r/c) over corpus lengths.
    Empty output, or references without a token, score 0. A corpus without any 4-gram scores 0 by this
    definition, and the note says so; `effective_order` leaves such orders out.
    `smooth_method` (Chen & Cherry 2014): exp and floor mend orders that have n-grams but no match.
    `tokenize` is sacreBLEU's; it splits both sides and has nothing to do with the model's tokenizer.
    Raises DataError as `check_lengths` does; ConfigError for options that cannot work.
    """

    higher_is_better = True

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

    def __call__(self, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        check_lengths(hypotheses, references)
        value = self.scorer.corpus_score(hypotheses, [references]).score
        note = None if self.scorer.effective_order else self._shortness(hypotheses, references)
        return Score(min(value, 100.0), self.name, self._signature(), note)  # sacreBLEU: 100.00000000000004

    def _signature(self) -> str:
        signature = self.scorer.get_signature()
        if self.scorer.max_ngram_order != STANDARD_ORDER:  # sacreBLEU leaves it out
            signature.update("order", self.scorer.max_ngram_order)
        return str(signature)

    def _shortness(self, hypotheses: Sequence[str], references: Sequence[str]) -> str | None:
        order = self.scorer.max_ngram_order
        for what, lines in (("reference", references), ("hypothesis", hypotheses)):
            if all(self._length(line) < order for line in lines):
                plural = "s" * (order != 1)
                return f"corpus too short for {order}-gram BLEU: no {what} has {order} token{plural}"
        return None

    def _length(self, line: str) -> int:
        return len(self.scorer.tokenizer(line.rstrip()).split())  # white space as sacreBLEU sees it


def sentence_bleu(
    hypothesis: str, reference: str, *, tokenize: Tokenization = "13a", lowercase: bool = False
) -> Score:
    """Smoothed BLEU of one sentence, 0–100, over the n-gram orders it has (effective order).

    For looking at single outputs: its mean over a corpus is not BLEU.
    """
    score = _sentence_scorer(tokenize, lowercase)([hypothesis], [reference])
    note = "one sentence, smoothed, effective order: not comparable with corpus BLEU"
    return score._replace(name="sentence_bleu", note=note)


@functools.cache
def _sentence_scorer(tokenize: Tokenization, lowercase: bool) -> Bleu:
    return Bleu(tokenize=tokenize, lowercase=lowercase, effective_order=True)


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
