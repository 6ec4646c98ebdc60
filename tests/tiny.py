"""An experiment that trains in a second: three symbols, to be written backwards."""

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transduce.config import merge, parse_override
from transduce.experiment import Experiment, load_experiment
from transduce.run.folder import TIMING

TASK = {"name": "copy_reverse", "length": 3, "symbols": 4}
SETTINGS: Mapping[str, Any] = {
    "name": "tiny",
    "data": {"train": {**TASK, "size": 60}, "dev": {**TASK, "size": 6}, "test": {**TASK, "size": 6}},
    "tokenizer": {"source": "word", "target": "word"},
    "model": {"encoder": {"width": 8, "dropout": 0.2}, "decoder": {"width": 8, "dropout": 0.2}},
    "train": {
        "optimizer": {"lr": 0.02},
        "batch_pairs": 16,
        "updates": 10,
        "validate_every": 5,
        "log_every": 3,
        "select": "loss",
    },
    "search": {"width": 2, "max_length": {"plus": 4}},
}


def settings(*overrides: str) -> dict[str, Any]:
    """The settings as YAML holds them, with `key.path=value` laid over them."""
    tree: dict[str, Any] = copy.deepcopy(dict(SETTINGS))
    for override in overrides:
        ((key, value),) = parse_override(override).items()
        tree[key] = merge(tree.get(key), value)
    return tree


def experiment(*overrides: str) -> Experiment:
    return load_experiment(settings(*overrides))


def log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's log, without what no two runs share."""
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    return [{key: value for key, value in json.loads(line).items() if key not in TIMING} for line in lines]
