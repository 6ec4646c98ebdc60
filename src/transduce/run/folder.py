"""The run folder: what may be continued, what is refused, and its log."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transduce.errors import CheckpointError, ConfigError
from transduce.experiment import Experiment, load_experiment
from transduce.files import TEMPORARY, write_file

MAY_CHANGE = ("name", "search", "train.batch_", "train.updates", "train.patience", "train.validate_every")
MAY_CHANGE += ("train.save_every", "train.log_every", "train.workers", "train.accumulate")
MAY_CHANGE += ("train.keep_saves", "train.track")
TIMING = ("seconds", "tokens_per_second", "memory")  # what no two runs share, of the log
CACHE = "cache"  # encoded training data, while training is not finished
TOKENIZERS = ("tokenizer.source.json", "tokenizer.target.json")  # written before the configuration


def prepare(folder: Path, experiment: Experiment, say: Callable[[str], None], *, overwrite: bool) -> bool:
    """Makes the folder ready; True where it holds a run of this experiment to continue.

    Says which settings have changed, where a run can take that. Raises ConfigError for a run of another
    experiment, listing what differs, or a folder that is none.
    """
    going_on = is_run(folder) and not overwrite
    if going_on:
        compare(folder, load_experiment(str(folder / "config.yaml")), experiment, say)
    elif is_run(folder):
        clear(folder)
    elif folder.is_dir() and (foreign := [path.name for path in folder.iterdir() if not is_leftover(path)]):
        raise ConfigError(f"{folder}: expected an empty folder or a run; it holds {min(foreign)!r}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be made; {error.strerror}") from None
    for half_written in folder.glob(f"{TEMPORARY}*"):
        half_written.unlink()
    return going_on


def is_run(folder: Path) -> bool:
    """A configuration alone is none: it may be the user's own, beside the user's data."""
    return all((folder / name).is_file() for name in ("config.yaml", *TOKENIZERS))


def is_leftover(path: Path) -> bool:
    """What an interruption leaves of a run that had not begun."""
    return path.name in (CACHE, *TOKENIZERS) or path.name.startswith(TEMPORARY)


def clear(folder: Path) -> None:
    """Removes a run and nothing beside it, in an order that can be interrupted."""
    for name in ("state", CACHE):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in ("model.safetensors", "metrics.jsonl", "README.md", "config.yaml", *TOKENIZERS):
        (folder / name).unlink(missing_ok=True)


def compare(folder: Path, old: Experiment, new: Experiment, say: Callable[[str], None]) -> None:
    """Tells of changes that a run can take, refuses others."""
    before, after = flatten(old.model_dump()), flatten(new.model_dump())
    changed = {
        key: f"{key}: {before.get(key)!r} -> {after.get(key)!r}"
        for key in before | after
        if before.get(key) != after.get(key)
    }
    if wrong := [change for key, change in changed.items() if not key.startswith(MAY_CHANGE)]:
        listing = "; ".join(wrong)
        raise ConfigError(
            f"{folder}: holds a run of another experiment ({listing}); choose another --run, or --overwrite"
        )
    if changed:
        say(f"going on with other settings than before: {'; '.join(changed.values())}")


def flatten(tree: Any, path: str = "") -> dict[str, Any]:
    """Nested mappings as dotted keys."""
    if not isinstance(tree, dict):
        return {path: tree}
    prefix = f"{path}." if path else ""
    return {key: value for k, item in tree.items() for key, value in flatten(item, prefix + str(k)).items()}


class Log:
    """`metrics.jsonl`: one JSON object a line, cut back to the update from which a run goes on."""

    def __init__(self, path: Path, update: int) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
        kept = [line for line in lines if update_of(line) <= update]
        write_file(path, "".join(f"{line}\n" for line in kept).encode())

    def write(self, event: str, values: dict[str, Any]) -> None:
        with open(self.path, "a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps({"event": event, **values}) + "\n")


def update_of(line: str) -> float:
    """The update that a line of the log tells of; infinity where an interruption cut the line short."""
    try:
        return float(json.loads(line)["update"])
    except (ValueError, KeyError, TypeError):
        return math.inf
