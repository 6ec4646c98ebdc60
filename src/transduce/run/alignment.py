"""How well a model's attention agrees with word alignments that people made."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from transduce.data.index import encode_pairs
from transduce.data.lines import read_lines
from transduce.data.pairs import Pair
from transduce.errors import ConfigError, DataError
from transduce.metrics.alignment import (
    GoldAlignment,
    alignment_score,
    check_links,
    link_words,
    parse_links,
    word_places,
)
from transduce.metrics.base import split_words
from transduce.run.outputs import Outputs
from transduce.translator import Translator


@dataclass(frozen=True)
class AlignmentErrors:
    """`alignment`: AER, precision and recall of attention against gold alignments of the pairs.

    The reference is forced, as is standard: gold links are of the reference's words, not of the output's.
    Attention is that of the decoder's last layer, its heads averaged.
    """

    translator: Translator
    pairs: Sequence[Pair]
    gold: Sequence[GoldAlignment]
    threshold: float | None = None
    batch_size: int = 64

    def __post_init__(self) -> None:
        if not self.translator.model.attends:
            raise ConfigError("gold alignments: expected a model with attention; this one has none to align")
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise ConfigError(f"alignment threshold: expected above 0, at most 1; got {self.threshold}")

    def __call__(self, outputs: Outputs) -> dict[str, Any]:
        source, target = self.translator.source_tokenizer, self.translator.target_tokenizer
        attention = forced_attention(self.translator, self.pairs, self.batch_size)
        found = [
            link_words(
                weights,
                word_places(pair.source, source.encode(pair.source).offsets),
                word_places(pair.target, target.encode(pair.target).offsets),
                self.threshold,
            )
            for pair, weights in zip(self.pairs, attention, strict=True)
        ]
        links = "most" if self.threshold is None else f"at_least_{self.threshold:g}"
        signature = f"aer|level:corpus|split:space|forced:yes|links:{links}"
        return {"alignment": alignment_score(found, self.gold)._asdict() | {"signature": signature}}


def read_gold(path: str, pairs: Sequence[Pair]) -> list[GoldAlignment]:
    """A line of links for each pair, in Pharaoh's format. Raises DataError with `file:line`."""
    gold = [parse_links(line, f"{path}:{number}") for number, line in enumerate(read_lines(path), 1)]
    if len(gold) != len(pairs):
        raise DataError(f"{path}: expected a line for each of the {len(pairs)} pairs scored; got {len(gold)}")
    for number, (line, pair) in enumerate(zip(gold, pairs, strict=True), 1):
        check_links(line, len(split_words(pair.source)), len(split_words(pair.target)), f"{path}:{number}")
    return gold


def forced_attention(
    translator: Translator, pairs: Sequence[Pair], batch_size: int
) -> Iterator[Float[np.ndarray, "T S"]]:
    """The attention of each target over its source, in order; rows and columns of specials come last."""
    index = encode_pairs(pairs, translator.source_tokenizer, translator.target_tokenizer)
    translator.model.eval()
    for start in range(0, len(pairs), batch_size):
        rows = range(start, min(start + batch_size, len(pairs)))
        batch = translator.batch(index, pairs, rows)
        with torch.no_grad():
            weights = translator.model(batch.source, batch.inputs, weights=True).weights  # [B T L H S]
        yield from weights[:, :, -1].mean(dim=2).cpu().numpy()
