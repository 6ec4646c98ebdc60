"""The run folder: what may be continued, what is refused, and its log."""

import contextlib
import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator
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
MODEL, CARD, STATE = "model.safetensors", "README.md", "state"  # the best model, what it is, and the saves
TRACKERS = ("tensorboard", "wandb")  # folders of these
DATA = "data.json"  # what the data were when the run began
TOKENIZERS = ("tokenizer.source.json", "tokenizer.target.json")  # written before the configuration


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """While entered, no other process trains in the folder, which is made where there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be made; {error.strerror}") from None
    descriptor = lock(folder)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def lock(folder: Path) -> int | None:
    """Locks a folder until the descriptor is closed or the process has ended, however it ends.

    It is the folder itself that is locked, so that no file is left of it. None where there are no such locks.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise CheckpointError(
            f"{folder}: another process is training in it; wait for its end, or choose another --run"
        ) from None
    except OSError:  # some network file systems lock no folders
        os.close(descriptor)
        return None
    return descriptor


def prepare(folder: Path, experiment: Experiment, say: Callable[[str], None], *, overwrite: bool) -> bool:
    """Looks at a folder that is claimed; True where it holds a run of this experiment to continue.

    Says which settings have changed, where a run can take that. Raises ConfigError for a run of another
    experiment, listing what differs, or a folder that is none. A run to overwrite is still there afterwards.
    """
    origin = experiment.train.start_from
    if origin is not None and Path(origin).resolve() == folder.resolve():
        raise ConfigError(
            f"{folder}: expected another folder than that of train.start_from; choose another --run"
        )
    going_on = is_run(folder) and not overwrite
    if going_on:
        compare(folder, load_experiment(str(folder / "config.yaml")), experiment, say)
    elif not is_run(folder) and (foreign := [p.name for p in folder.iterdir() if not is_leftover(p)]):
        raise ConfigError(f"{folder}: expected an empty folder or a run; it holds {min(foreign)!r}")
    for half_written in folder.glob(f"{TEMPORARY}*"):
        half_written.unlink()
    return going_on


def is_run(folder: Path) -> bool:
    """A configuration alone is none: it may be the user's own, beside the user's data."""
    return all((folder / name).is_file() for name in ("config.yaml", *TOKENIZERS))


def is_leftover(path: Path) -> bool:
    """What an interruption leaves of a run that had not begun."""
    return path.name in (CACHE, *TOKENIZERS, *TRACKERS) or path.name.startswith(TEMPORARY)


def clear(folder: Path) -> None:
    """Removes a run and nothing beside it, in an order that can be interrupted; its cache serves the next."""
    shutil.rmtree(folder / STATE, ignore_errors=True)
    for name in (MODEL, "metrics.jsonl", CARD, DATA, "config.yaml", *TOKENIZERS):
        (folder / name).unlink(missing_ok=True)


def check_saves_not_lost(folder: Path) -> None:
    """Refuses to begin again over a model that was made before, where there is no save to go on from.

    A model of an unfinished run that had not come to its first save may go: it will be made again.
    """
    before_first_save = (folder / STATE).is_dir() and not (folder / CARD).exists()
    if (folder / MODEL).exists() and not before_first_save:
        raise CheckpointError(
            f"{folder}: expected a save beside its model to go on from; {STATE}/ holds none; begin anew with "
            f"--overwrite, or with another --run and train.start_from={folder}"
        )


def compare_data(folder: Path, digest: str, pairs: int, say: Callable[[str], None]) -> None:
    """Says that the data are others than when the run began, or remembers them at its beginning."""
    path = folder / DATA
    try:
        then = json.loads(path.read_text(encoding="utf-8"))
        before, count = then["digest"], f"{int(then['pairs']):,}"
    except (OSError, ValueError, KeyError, TypeError):
        write_file(path, json.dumps({"digest": digest, "pairs": pairs}).encode())
        return
    if before != digest:
        counts = f"{count} training pairs then, {pairs:,} now"
        say(f"the data have changed since this run began ({counts}): its vocabularies are kept")


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
