"""Evaluation: decode, then score; the same function for validation in training and for the command."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from transduce.data.batch import pair_batch
from transduce.data.index import Index, encode_pairs
from transduce.data.pairs import Pair
from transduce.metrics import Metric, Score, measure
from transduce.run.corpus import read, require, with_columns
from transduce.search import Search
from transduce.training.loss import cross_entropy
from transduce.translator import Translator


def evaluate(
    translator: Translator,
    data: str | None = None,
    *,
    search: Search | None = None,
    batch_size: int = 64,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Decodes test data and scores it: the object that `evaluate --json` prints.

    `data` is a TSV file; without it, the experiment's own test data.
    """
    experiment = translator.experiment if data is None else with_columns(translator.experiment, data)
    pairs = read(require(experiment, "test"), data or "data.test", say).pairs
    hypotheses = translate_pairs(translator, pairs, search=search, batch_size=batch_size)
    scores = score_texts(translator, hypotheses, pairs)
    chosen = experiment.search.plain()
    if search is not None:
        chosen |= {"width": search.width, "n_best": search.n_best}
    return report(len(pairs), scores) | {"search": chosen, "model": experiment.name}


def report(examples: int, scores: dict[str, Score]) -> dict[str, Any]:
    """The plain values of an evaluation."""
    metrics = {
        name: {"value": score.value, "signature": score.signature}
        | ({"note": score.note} if score.note else {})
        for name, score in scores.items()
    }
    return {"examples": examples, "metrics": metrics}


def translate_pairs(
    translator: Translator, pairs: Iterable[Pair], *, search: Search | None, batch_size: int = 64
) -> list[str]:
    sources = (pair.source for pair in pairs)
    return [result.text for result in translator.stream(sources, search=search, batch_size=batch_size)]


def score_texts(
    translator: Translator,
    hypotheses: Sequence[str],
    pairs: Sequence[Pair],
    names: Sequence[str] | None = None,
) -> dict[str, Score]:
    """Metrics of hypotheses against the pairs' targets, in the tokenizer's normal form; None: all."""
    tokenizer = translator.target_tokenizer
    references = [tokenizer.normalise(pair.target) for pair in pairs]

    def split(text: str) -> list[str]:
        return [text[start:end] for start, end in tokenizer.encode(text).offsets]

    return measure(names, hypotheses, references, split)


class Validator:
    """What training calls on its dev pairs: real decoding, and the teacher-forced loss beside it."""

    def __init__(self, translator: Translator, pairs: list[Pair]) -> None:
        self.translator, self.pairs = translator, pairs
        self.search = translator.experiment.train.validation_search.build()
        chosen = translator.experiment.train.select
        self.names = [name for name in Metric.family if name != "ter" or chosen == "ter"]  # TER is slow
        self.index = encode_pairs(pairs, translator.source_tokenizer, translator.target_tokenizer)

    def __call__(self) -> dict[str, float]:
        hypotheses = translate_pairs(self.translator, self.pairs, search=self.search)
        scores = score_texts(self.translator, hypotheses, self.pairs, self.names)
        loss, accuracy = teacher_forced(self.translator, self.index)
        values = {name: score.value for name, score in scores.items()}
        return {**values, "loss": loss, "teacher_forced_accuracy": accuracy}


@torch.no_grad()
def teacher_forced(translator: Translator, index: Index, batch_size: int = 64) -> tuple[float, float]:
    """Mean loss and accuracy over all real target tokens, whatever the batches."""
    total, correct, tokens = 0.0, 0, 0
    order = sorted(range(len(index)), key=lambda row: (index.target.lengths[row], index.source.lengths[row]))
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        batch = pair_batch(index, rows, source_eos=translator.experiment.model.source_eos)
        output = translator.model(batch.source, batch.inputs)
        loss = cross_entropy(output.log_probs, batch.target, batch.target_mask)
        total, correct, tokens = total + loss.total.item(), correct + int(loss.correct), tokens + loss.tokens
    return total / tokens, correct / tokens
