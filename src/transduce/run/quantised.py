"""What int8 changes, as a report of a run's evaluation."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transduce.data.pairs import Pair
from transduce.quantisation import quantise
from transduce.run.outputs import ModelOutputs, Names, decode_pairs
from transduce.search import Search
from transduce.translator import Translator


@dataclass(frozen=True)
class Quantised:
    """`int8`: the same scores with the model's matrices in int8, and how many outputs then differ."""

    translator: Translator
    search: Search
    pairs: Sequence[Pair]
    metrics: Names = None
    batch_size: int = 64

    def __call__(self, outputs: ModelOutputs) -> dict[str, Any]:
        small = copy.copy(self.translator)
        small.model = copy.deepcopy(self.translator.model)
        quantise(small.model)
        found = decode_pairs(small, self.pairs, self.search, batch_size=self.batch_size)
        pairs = zip(outputs.hypotheses, found.hypotheses, strict=True)
        before, after = outputs.measure(self.metrics), found.measure(self.metrics)
        metrics = {
            name: {"float32": score.value, "int8": after[name].value, "signature": score.signature}
            for name, score in before.items()
        }
        differing = sum(one != other for one, other in pairs)
        return {"int8": {"lines": len(found.hypotheses), "differing": differing, "metrics": metrics}}
