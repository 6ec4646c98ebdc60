"""The run folder: what may be continued, what is refused, and its log."""

import json
import shutil
from pathlib import Path
from typing import Any

from transduce.errors import CheckpointError, ConfigError
from transduce.experiment import Experiment, load_experiment
from transduce.files import write_file

MAY_CHANGE = ("name", "search", "train.batch_", "train.updates", "train.patience", "train.validate_every")
MAY_CHANGE += ("train.save_every", "train.log_every")


def prepare(folder: Path, experiment: Experiment, *, overwrite: bool) -> bool:
    """Makes the folder ready; True where it holds a run of this experiment to continue.

    Raises ConfigError for a run of another experiment, listing what differs, or a folder that is none.
    """
    config = folder / "config.yaml"
    if overwrite and config.is_file():
        shutil.rmtree(folder)
    if config.is_file():
        refuse_changes(folder, load_experiment(str(config)), experiment)
        return True
    if folder.is_dir() and (foreign := [path for path in folder.iterdir() if path.name not in LEFTOVERS]):
        raise ConfigError(f"{folder}: expected an empty folder or a run; it holds {foreign[0].name!r}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be made; {error.strerror}") from None
    return False


LEFTOVERS = {"tokenizer.source.json", "tokenizer.target.json", ".writing-config.yaml"}


def refuse_changes(folder: Path, old: Experiment, new: Experiment) -> None:
    before, after = flatten(old.model_dump()), flatten(new.model_dump())
    changed = [key for key in before | after if before.get(key) != after.get(key)]
    if wrong := [key for key in changed if not key.startswith(MAY_CHANGE)]:
        listing = "; ".join(f"{key}: {before.get(key)!r} -> {after.get(key)!r}" for key in wrong)
        raise ConfigError(
            f"{folder}: holds a run of another experiment ({listing}); choose another --run, or --overwrite it"
        )


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
        kept = [line for line in lines if line.endswith("}") and json.loads(line)["update"] <= update]
        write_file(path, "".join(f"{line}\n" for line in kept).encode())

    def write(self, event: str, values: dict[str, Any]) -> None:
        with open(self.path, "a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps({"event": event, **values}) + "\n")
