"""Evaluation: decode, then score; the same way for validation in training and for the command."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from transduce.config import Spec
from transduce.data.batch import pair_batch
from transduce.data.index import Index, encode_pairs
from transduce.data.pairs import Pair, Pairs
from transduce.metrics import Metric
from transduce.metrics.checks import text_warnings
from transduce.run.corpus import Say, read, require, with_columns
from transduce.run.outputs import Outputs, Stopped, decode_pairs, never, normalised_references, until
from transduce.run.reports import ModelReport, Scores
from transduce.search import Search
from transduce.training.loss import cross_entropy
from transduce.translator import Translator
from transduce.types import move

Of = TypeVar("Of", bound=Outputs)


def evaluate(
    translator: Translator,
    data: str | None = None,
    *,
    search: Spec[Search] | None = None,
    batch_size: int = 64,
    reports: Sequence[ModelReport] = (Scores(),),
    say: Say = lambda line: None,
) -> dict[str, Any]:
    """Decodes test data and scores it: the object that `evaluate --json` prints.

    `data` is a TSV file; without it, the experiment's own test data. `reports` say what is told of the
    outputs beside their number and the share of attention at the first source position.
    """
    pairs = read_pairs(translator, data, say)
    return evaluate_pairs(translator, pairs, search=search, batch_size=batch_size, reports=reports, say=say)


def read_pairs(translator: Translator, data: str | None, say: Say) -> Pairs:
    """The pairs of a TSV file in the run's columns, or of the run's test data."""
    experiment = translator.experiment if data is None else with_columns(translator.experiment, data)
    return read(require(experiment, "test"), data or "data.test", say)


def evaluate_pairs(
    translator: Translator,
    pairs: Pairs,
    *,
    search: Spec[Search] | None = None,
    batch_size: int = 64,
    reports: Sequence[ModelReport] = (Scores(),),
    say: Say = lambda line: None,
) -> dict[str, Any]:
    """`evaluate` of pairs that were read before."""
    search = search or translator.experiment.search
    attends = translator.model.attends
    outputs = decode_pairs(
        translator,
        pairs.pairs,
        search.build(),
        batch_size=batch_size,
        attention=attends,
        lines=pairs.lines,
    )
    looked: dict[str, Any] = {"attention": outputs.attention} if attends else {}
    if changed := normalised_references(translator, pairs.pairs):
        looked["normalised_references"] = changed
        say(
            f"{changed['count']} of {len(pairs.pairs)} references are scored as the model can write them "
            f"({changed['form']}), not as they stand, as scores of files with the same signatures take them"
        )
    made = {"search": search.plain(), "model": translator.experiment.name}
    return describe(outputs, reports, say) | looked | made


def describe(outputs: Of, reports: Sequence[Callable[[Of], dict[str, Any]]], say: Say) -> dict[str, Any]:
    """What the reports tell of outputs, as plain values; says what makes scores of them doubtful."""
    for warning in text_warnings(outputs.hypotheses, outputs.answers):
        say(warning)
    told: dict[str, Any] = {"examples": len(outputs.hypotheses)}
    for report in reports:
        told |= report(outputs)
    return told


class Validator:
    """What training calls on its dev pairs: real decoding, and the teacher-forced loss beside it."""

    def __init__(self, translator: Translator, pairs: list[Pair]) -> None:
        self.translator, self.pairs = translator, pairs
        self.search = translator.experiment.train.validation_search.build()
        chosen = translator.experiment.train.select
        self.names = [name for name in Metric.family if name != "ter" or chosen == "ter"]  # TER is slow
        self.index = encode_pairs(pairs, translator.source_tokenizer, translator.target_tokenizer)

    def __call__(self, stop: Callable[[], bool] = never) -> dict[str, float] | None:
        """Dev scores by name; None where `stop` came before they were known."""
        try:
            outputs = decode_pairs(self.translator, self.pairs, self.search, stop=stop)
            loss, accuracy = teacher_forced(self.translator, self.index, stop=stop)
        except Stopped:
            return None
        scores = outputs.measure(self.names)
        values = {name: score.value for name, score in scores.items()}
        return {**values, "loss": loss, "teacher_forced_accuracy": accuracy}


@torch.no_grad()
def teacher_forced(
    translator: Translator, index: Index, batch_size: int = 64, *, stop: Callable[[], bool] = never
) -> tuple[float, float]:
    """Mean loss and accuracy over all real target tokens, whatever the batches. Raises Stopped."""
    total, correct, tokens = 0.0, 0, 0
    order = sorted(range(len(index)), key=lambda row: (index.target.lengths[row], index.source.lengths[row]))
    for start in until(stop, range(0, len(order), batch_size)):
        rows = order[start : start + batch_size]
        batch = pair_batch(index, rows, source_eos=translator.experiment.model.source_eos)
        batch = move(batch, translator.model.device)
        output = translator.model(batch.source, batch.inputs)
        loss = cross_entropy(output.log_probs, batch.target, batch.target_mask)
        total, correct, tokens = total + loss.total.item(), correct + int(loss.correct), tokens + loss.tokens
    return total / tokens, correct / tokens
