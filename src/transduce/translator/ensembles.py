"""Several runs as one translator."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transduce.ensemble import Ensemble
from transduce.errors import ConfigError
from transduce.translator.differences import first_difference
from transduce.translator.readers import Reader
from transduce.translator.translator import Translator


def load(
    folder: str | Path,
    *others: str | Path,
    mean: str = "probabilities",
    weights: Sequence[float] | None = None,
    device: str = "auto",
) -> Translator:
    """The trained model of a run folder, or several as an ensemble, whose search is that of the first.

    `mean` is of `probabilities` or `log_probabilities`, each model's times its share of the `weights`. Models
    may differ in all but the target vocabulary. Raises CheckpointError naming the file at fault, and
    ConfigError for runs or weights that do not go together.
    """
    folders = [folder, *others]
    translators = [Translator.load(one, device) for one in folders]
    if not others and weights is None:
        return translators[0]
    return join(folders, translators, mean, weights)


def join(
    names: Sequence[str | Path],
    translators: Sequence[Translator],
    mean: str = "probabilities",
    weights: Sequence[float] | None = None,
) -> Translator:
    """One translator of several models; `names` say in errors which they are."""
    first = translators[0]
    ways, readers, reads = [], [], []
    for name, translator in zip(names, translators, strict=True):
        if difference := first_difference(writing(first), writing(translator)):
            raise ConfigError(
                f"{name}: expected the target vocabulary of {names[0]}, to be one ensemble with it; "
                f"the first difference is {difference}"
            )
        way = reading(translator)
        if way not in ways:
            ways.append(way)
            readers.append(Reader(translator.source_tokenizer, translator.experiment.model.source_eos))
        reads.append(ways.index(way))
    members = [member for translator in translators for member in translator.model.members]
    title = " + ".join(translator.experiment.name for translator in translators)
    return Translator(
        first.experiment.model_copy(update={"name": title}),
        first.source_tokenizer,
        first.target_tokenizer,
        Ensemble(members, mean=mean, weights=weights, reads=reads),
        others=readers[1:],
    )


def reading(translator: Translator) -> dict[str, Any]:
    """Plain values that are equal where texts are read alike."""
    settings, state = translator.experiment.tokenizer.source, translator.source_tokenizer.state()
    return {"source_eos": translator.experiment.model.source_eos, **settings.plain(), **state}


def writing(translator: Translator) -> dict[str, Any]:
    """Plain values that are equal where an id is the same symbol."""
    return {"tokenizer": translator.target_tokenizer.name, **translator.target_tokenizer.state()}
