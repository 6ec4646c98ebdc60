"""Whether a run's outputs depend on the batch, as a report of its evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transduce.data.pairs import Pair
from transduce.run.outputs import Outputs
from transduce.search import Search
from transduce.translator import Translator
from transduce.translator.batching import check_batching


@dataclass(frozen=True)
class Batching:
    """`batching`: the sources decoded alone and in batches, and what differed."""

    translator: Translator
    search: Search
    pairs: Sequence[Pair]

    def __call__(self, outputs: Outputs) -> dict[str, Any]:
        sources = [pair.source for pair in self.pairs]
        return {"batching": check_batching(self.translator, sources, search=self.search).plain()}
