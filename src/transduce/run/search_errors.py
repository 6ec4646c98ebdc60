"""Whose fault a wrong output is: the search's or the model's."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transduce.data.pairs import Pair
from transduce.run.outputs import ModelOutputs, normalised
from transduce.search import Search
from transduce.translator import Translator
from transduce.types import UNK

KINDS = ("correct", "search", "model", "unfinished")
TIE = 1e-4  # scores nearer than this are equal: the two come from different passes, in float32


@dataclass(frozen=True)
class SearchErrors:
    """`errors`: of each wrong output, whether the search missed the answer or the model prefers its own.

    The answer is scored by force: log P(answer | source), EOS in, over the divisor of the search's length
    penalty, as the search ranks. A search error: this is above the same of the output, so a search that
    looked further would have preferred the answer. A model error: it is not; ties count here. What else a
    search does, such as a coverage penalty, is part of the search. Of several answers the one with the
    highest score counts; one with tokens that were never seen in training no search can write, so it is
    the model's fault and has no score. Outputs that are an accepted answer are `correct`; those that did
    not end have no probability to compare. Both are counted apart (Stahlberg & Byrne 2019,
    arXiv:1908.10090, count so).
    """

    translator: Translator
    search: Search
    pairs: Sequence[Pair]
    batch_size: int = 64

    def __call__(self, outputs: ModelOutputs) -> dict[str, Any]:
        lines = [self._line(outputs, row) for row in range(len(outputs.hypotheses))]
        wrong = [row for row, line in enumerate(lines) if line["kind"] == "model"]
        best = self._best_answers(outputs, wrong)
        for row in wrong:
            answer, score = best.get(row, (outputs.answers[row][0], None))
            missed = score is not None and score > outputs.scores[row] + TIE
            lines[row] |= {
                "kind": "search" if missed else "model",
                "reference": answer,
                "hypothesis_score": outputs.scores[row],
                "reference_score": score,
            }
        counts = Counter(line["kind"] for line in lines)
        return {"errors": {"counts": {kind: counts[kind] for kind in KINDS}, "lines": lines}}

    def _line(self, outputs: ModelOutputs, row: int) -> dict[str, Any]:
        hypothesis = outputs.hypotheses[row]
        correct = hypothesis in outputs.answers[row]
        kind = "correct" if correct else "model" if outputs.finished[row] else "unfinished"
        return {
            "line": outputs.lines[row],
            "source": self.pairs[row].source,
            "hypothesis": hypothesis,
            "kind": kind,
        }

    def _best_answers(self, outputs: ModelOutputs, rows: list[int]) -> dict[int, tuple[str, float]]:
        """Of each row the answer with the highest score, and that score, if any answer can be written."""
        encode = self.translator.target_tokenizer.encode
        tried = [(row, answer, encode(answer).ids) for row in rows for answer in outputs.answers[row]]
        tried = [one for one in tried if UNK not in one[2]]
        sources, answers = [self.pairs[row].source for row, *_ in tried], [answer for _, answer, _ in tried]
        sums = self.translator.score(sources, answers, batch_size=self.batch_size)
        best: dict[int, tuple[str, float]] = {}
        for (row, answer, ids), log_prob in zip(tried, sums, strict=True):
            score = normalised(self.search, log_prob, len(ids) + 1)  # EOS counts
            if row not in best or score > best[row][1]:
                best[row] = (answer, score)
        return best
