"""Two systems on the same lines."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transduce.data.lines import read_lines
from transduce.errors import ConfigError, DataError
from transduce.metrics import Comparison, compare
from transduce.run.outputs import Names, Outputs
from transduce.run.reports import plain_interval
from transduce.translator import Translator

System = Callable[[Outputs], list[str]]  # its outputs for the same sources


@dataclass(frozen=True)
class Compared:
    """`comparison`: the paired bootstrap of outputs against those of another system, called `name`.

    `normalise` brings the other's lines into the form of the answers, so that no system loses for its
    normal form.
    """

    name: str
    system: System
    normalise: Callable[[str], str] = str
    metrics: Names = None

    def __call__(self, outputs: Outputs) -> dict[str, Any]:
        others = [self.normalise(line) for line in self.system(outputs)]
        found = compare(self.metrics, outputs.hypotheses, others, outputs.answers, outputs.tokenize)
        metrics = {name: _plain(comparison) for name, comparison in found.items()}
        return {"comparison": {"other": self.name, "metrics": metrics}}


def _plain(found: Comparison) -> dict[str, Any]:
    return {
        "first": plain_interval(found.first),
        "second": plain_interval(found.second),
        "difference": found.difference,
        "low": found.low,
        "high": found.high,
        "won": found.won,
        "tied": found.tied,
        "p_value": found.p_value,
    }


def open_system(path: str, lines: int | None, batch_size: int = 64) -> System:
    """A file of outputs for so many `lines`, or a run folder, which translates by its own search.

    Read before anything is decoded. Raises DataError for a file of another length, CheckpointError for a
    folder without a run.
    """
    if Path(path).is_dir():
        return _run_system(Translator.load(path), path, batch_size)
    texts = list(read_lines(path))
    if lines is not None and len(texts) != lines:
        raise DataError(f"{path}: expected an output for each of the {lines} lines scored; got {len(texts)}")
    return lambda outputs: texts


def _run_system(translator: Translator, path: str, batch_size: int) -> System:
    def translate(outputs: Outputs) -> list[str]:
        if outputs.sources is None:
            raise ConfigError(f"{path}: expected sources for this run to translate; got none")
        return [result.text for result in translator.stream(outputs.sources, batch_size=batch_size)]

    return translate
