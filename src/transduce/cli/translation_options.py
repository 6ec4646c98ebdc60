"""The options of `transduce translate`, and which of them go together."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transduce.cli.system import check_ensemble, check_int8
from transduce.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command was given. Raises ConfigError for what does not go together."""

    run: str
    file: str
    beam: int | None
    n_best: int | None
    min_length: int | None
    max_length: int | None
    no_repeat_ngram: int | None
    without: list[str] | None
    prefix: Path | None
    phrases: Path | None
    sample: bool
    temperature: float | None
    seed: int | None
    search: list[str] | None
    with_: list[str] | None
    mean: str | None
    weights: str | None
    replace_unk: bool
    dictionary: Path | None
    json: bool
    attention: bool
    trace: bool
    alignments: Path | None
    alignment_threshold: float | None
    int8: bool
    device: str
    batch_size: int
    quiet: bool

    def __post_init__(self) -> None:
        needs("--attention", self.attention, "--json", self.json)
        needs("--trace", self.trace, "--json", self.json)
        needs("--dictionary", self.dictionary, "--replace-unk", self.replace_unk)
        needs("--alignment-threshold", self.alignment_threshold is not None, "--alignments", self.alignments)
        check_written("--alignments", self.alignments, self.file, self.prefix, self.phrases, self.dictionary)
        check_int8(self.int8, self.device)
        check_ensemble(self.with_, self.mean, self.weights)

    @property
    def changes(self) -> dict[str, Any]:
        """What is changed of the run's search: flags, and `--search key=value` laid over them."""
        from transduce.config import merge, parse_override

        given = {
            "name": "sampling" if self.sample else None,
            "width": self.beam,
            "n_best": self.n_best,
            "min_length": exactly(self.min_length),
            "max_length": exactly(self.max_length),
            "no_repeat_ngram": self.no_repeat_ngram,
            "without": self.without,
            "temperature": self.temperature,
            "seed": self.seed,
        }
        tree = {key: value for key, value in given.items() if value is not None}
        for setting in self.search or []:
            tree = merge(tree, parse_override(setting))
        return tree


def needs(flag: str, given: object, other: str, there: object) -> None:
    """Refuses a flag that says nothing without another."""
    if given and not there:
        raise ConfigError(f"{flag} needs {other}: expected both, got {flag} alone")


def check_written(flag: str, path: Path | None, *read: str | Path | None) -> None:
    """Refuses to write over a file that is to be read."""
    for given in read:
        if path and given and path.exists() and Path(given).exists() and path.samefile(given):
            raise ConfigError(f"{flag} {path}: expected another file than is read; {given} would be lost")


def exactly(length: int | None) -> dict[str, Any] | None:
    """A length whatever the source's."""
    return None if length is None else {"ratio": 0.0, "plus": length}
