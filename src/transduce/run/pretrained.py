"""Where a new run's parameters come from, other than chance."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from transduce.config import Spec
from transduce.data.vectors import read_vectors
from transduce.errors import ConfigError, DataError
from transduce.experiment import Experiment, TokenizerSettings, load_experiment
from transduce.layers.embedding import Embedding
from transduce.run.corpus import Corpus
from transduce.tokenizers import Tokenizer, load_tokenizer
from transduce.training.checkpoint import load_model
from transduce.training.extension import load_extended
from transduce.translator import Translator
from transduce.types import SPECIALS

Say = Callable[[str], None]


def tokenizers_from_run(
    experiment: Experiment, folder: str | Path, corpus: Corpus
) -> tuple[Tokenizer, Tokenizer]:
    """Tokenizers with the vocabularies of another run, extended by the training data where that is wished.

    Raises ConfigError where this experiment would read with others.
    """
    own, other = experiment.tokenizer, load_experiment(str(Path(folder) / "config.yaml")).tokenizer
    if reading(own) != reading(other):
        raise ConfigError(
            f"train.start_from: {folder} reads with {reading(other)}; tokenizer: expected the same; "
            f"got {reading(own)}"
        )
    source, target = own.source.build(), own.target.build()
    for tokenizer, fitted in zip((source, target), load_tokenizers(folder), strict=True):
        tokenizer.load_state(fitted.state())
    if not experiment.train.extend_vocabulary:
        return source, target
    corpus.survey()
    if own.shared:
        source.extend(corpus.texts("source", "target"))
        return source, source
    source.extend(corpus.texts("source"))
    target.extend(corpus.texts("target"))
    return source, target


def reading(settings: TokenizerSettings) -> dict[str, Any]:
    """How texts are read, but for what is drawn in training."""
    sides = {"source": settings.source, "target": settings.target}
    plain: dict[str, Any] = {side: reading_of(spec) for side, spec in sides.items()}
    return {**plain, "shared": settings.shared}


def reading_of(spec: Spec[Tokenizer]) -> dict[str, Any]:
    training_only = spec.kind.family[spec.name].training_only
    return {key: value for key, value in spec.plain().items() if key not in training_only}


def load_tokenizers(folder: str | Path) -> tuple[Tokenizer, Tokenizer]:
    """The source and the target tokenizer of a run."""
    paths = (Path(folder) / f"tokenizer.{side}.json" for side in ("source", "target"))
    source, target = map(load_tokenizer, paths)
    return source, target


def start_from_run(translator: Translator, folder: str | Path, say: Say) -> None:
    """Sets all parameters to those of another run's best model, which must be of the same shape.

    But for the rows of symbols by which its vocabularies were extended: those stay as initialised.
    """
    (model,), path = translator.model.members, Path(folder) / "model.safetensors"
    now = (translator.source_tokenizer.vocab_size, translator.target_tokenizer.vocab_size)
    before = tuple(tokenizer.vocab_size for tokenizer in load_tokenizers(folder))
    if not translator.experiment.train.extend_vocabulary:
        load_model(path, model)
        say(f"starts from the model of {folder}, with its vocabularies")
        return
    load_extended(path, model, set(zip(before, now, strict=True)))
    added = (
        f"{size - old:,} {side} symbols added to {old:,}"
        for side, old, size in zip(("source", "target"), before, now, strict=True)
    )
    say(f"starts from the model of {folder}, its vocabularies extended: {', '.join(added)}")


def start_from_vectors(
    embedding: Embedding, tokenizer: Tokenizer, path: str | Path, side: str, say: Say
) -> None:
    """Sets the table's rows of all symbols that the file has vectors of, and says how many those are.

    Symbols that it has not keep what they were initialised with. Raises DataError where no symbol is found.
    """
    ids = {tokenizer.token(index): index for index in range(SPECIALS, tokenizer.vocab_size)}
    found = read_vectors(path, ids, embedding.width)
    if not found:
        raise DataError(
            f"{path}: expected vectors of {side} symbols; it has none of the {len(ids):,} there are"
        )
    with torch.no_grad():
        for index, vector in found.items():
            embedding.table.weight[index] = torch.from_numpy(vector)
    say(f"{side} embeddings: {len(found):,} of {len(ids):,} symbols start from {path}")
