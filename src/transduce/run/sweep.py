"""Search settings side by side: every combination decoded and scored, to choose by."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from transduce.config import Settings, Spec, merge, parse_yaml, validate
from transduce.data.pairs import Pair
from transduce.errors import ConfigError, unknown
from transduce.experiment import Experiment, Runnable
from transduce.metrics import Metric
from transduce.metrics.base import to_spec
from transduce.run.corpus import Corpus, Say, read, require, with_columns
from transduce.run.outputs import Names, decode_pairs
from transduce.run.reports import plain_scores
from transduce.search import Search
from transduce.translator import Translator


class SearchSettings(Settings):
    """What a sweep may change."""

    search: Runnable


class Combination(NamedTuple):
    """One choice of the swept settings, and the search that it makes."""

    settings: dict[str, Any]
    search: Spec[Search]


def search_with(base: Spec[Search], settings: dict[str, Any], where: str) -> Spec[Search]:
    """The search with some `search.…` settings laid over it, as `train` would. Raises ConfigError."""
    tree: Any = {"search": base.plain()}
    for path, value in settings.items():
        change = value
        for key in reversed(path.split(".")):
            change = {key: change}
        tree = merge(tree, change)
    return validate(SearchSettings, tree, where).search


def combinations(base: Spec[Search], swept: Sequence[str]) -> list[Combination]:
    """The grid that `key.path=value,value …` spans, all of it checked; the last key varies fastest.

    Values are YAML; only commas outside brackets and quotes part them. Raises ConfigError.
    """
    axes = dict(map(_axis, swept))
    if len(axes) < len(swept):
        raise ConfigError(f"sweep: expected each key once; got {' '.join(swept)}")
    grid = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    return [Combination(settings, search_with(base, settings, "sweep")) for settings in grid]


def _axis(swept: str) -> tuple[str, list[Any]]:
    path, equals, values = swept.partition("=")
    where = f"sweep {swept!r}"
    if not equals or not all(path.split(".")):
        raise ConfigError(f"{where}: expected key.path=value,value")
    found = parse_yaml(f"[{values}]", where)
    if not isinstance(found, list) or not found:
        raise ConfigError(f"{where}: expected at least one value")
    return path, found


def sweep(
    translator: Translator,
    grid: Sequence[Combination],
    data: str | None = None,
    *,
    metrics: Names = None,
    select: str | None = None,
    batch_size: int = 64,
    say: Say = lambda line: None,
) -> dict[str, Any]:
    """Decodes and scores data by every search of a grid: the object that `evaluate --sweep --json` prints.

    The data are the run's dev pairs, unless a file is named: settings that were chosen on test data make
    its scores too good. The best combination by `select` is marked, of equals the first. By default this
    is what training selected by, where that is a metric, else exact match. Raises ConfigError.
    """
    chosen, names = selection(translator.experiment, metrics, select)
    pairs = tuning_pairs(translator.experiment, data, say)
    where = data or "data.dev"
    say(f"{len(grid)} searches of {len(pairs)} lines of {where}, to choose by {chosen}")
    rows = []
    for number, (settings, search) in enumerate(grid, 1):
        outputs = decode_pairs(translator, pairs, search.build(), batch_size=batch_size)
        scores = outputs.measure(names)
        say(f"{number} of {len(grid)}: {show(settings)}  {chosen} {scores[chosen].value:.4f}")
        rows.append({"settings": settings, "metrics": plain_scores(scores), "search": search.plain()})
    sign = 1 if Metric.family[chosen].higher_is_better else -1
    best = max(rows, key=lambda row: sign * row["metrics"][chosen]["value"])
    marked = [row | {"best": row is best} for row in rows]
    name = translator.experiment.name
    return {"examples": len(pairs), "data": where, "select": chosen, "sweep": marked, "model": name}


def selection(experiment: Experiment, metrics: Names, select: str | None) -> tuple[str, Names]:
    """The metric to choose by, and those to measure, which hold it."""
    usual = experiment.train.select
    chosen = select or (usual if usual in Metric.family else "exact_match")
    if chosen not in Metric.family:
        raise ConfigError(f"select: {unknown('metric', chosen, Metric.family)}")
    if metrics is None or chosen in [to_spec(name).name for name in metrics]:
        return chosen, metrics
    return chosen, [*metrics, chosen]


def tuning_pairs(experiment: Experiment, data: str | None, say: Say) -> list[Pair]:
    """The pairs of a file, or else the dev pairs of the experiment: its dev data, or what it held out."""
    if data is not None:
        if is_test_data(experiment, data):
            say(f"{data} is this run's test data: settings chosen on it make its scores too good")
        return read(require(with_columns(experiment, data), "test"), data, say).pairs
    if experiment.data.dev is not None:
        return read(require(experiment, "dev"), "data.dev", say).pairs
    corpus = Corpus(experiment, say)
    corpus.survey()
    return corpus.dev


def is_test_data(experiment: Experiment, data: str) -> bool:
    test = experiment.data.test
    return test is not None and test.options.get("path") == str(Path(data).absolute())


def show(settings: dict[str, Any]) -> str:
    """Settings as they are typed."""
    return " ".join(f"{path}={flow(value)}" for path, value in settings.items())


def flow(value: Any) -> str:
    """A plain value as YAML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
