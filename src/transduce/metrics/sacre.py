"""sacreBLEU's scorers as a `Metric` uses them: counts of each line, a value of their sum, a signature.

Its own significance tests go by the same methods, so figures are sacreBLEU's by construction. This is
the only file, beside `ter`, that leans on names sacreBLEU does not promise to keep; tests pin them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sacrebleu.metrics.base import Metric as Scorer
from sacrebleu.metrics.base import Signature

from transduce.metrics.base import Level, Statistics, Totals
from transduce.metrics.references import by_rank


def extract(scorer: Scorer, hypotheses: Sequence[str], answers: Sequence[Sequence[str]]) -> Statistics:
    """sacreBLEU's counts of each line, the answers taken together in the way of its metric."""
    streams: Any = by_rank(answers)  # holds None, which sacreBLEU takes though its annotation does not say so
    return np.array(scorer._extract_corpus_statistics(hypotheses, streams), dtype=float)


def compute(scorer: Scorer, totals: Totals) -> float:
    """sacreBLEU's value of summed counts."""
    return float(scorer._compute_score_from_stats(totals.tolist()).score)  # a list: smoothing writes to it


def sign(scorer: Scorer, nrefs: str, level: Level) -> Signature:
    """sacreBLEU's signature; only sentence level is added to it, as its own scores are of a corpus."""
    scorer.num_refs = nrefs
    signature = scorer.get_signature()
    if level != "corpus":
        signature.update("level", level)
    return signature
