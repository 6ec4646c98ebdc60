"""Proof, on the user's own experiment and machine, that a resumed run is the unbroken one."""

import json
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from transduce.config import merge
from transduce.errors import Interrupted, TrainingError
from transduce.experiment import Experiment, load_experiment
from transduce.run.corpus import Say
from transduce.run.folder import TIMING
from transduce.run.train import train_run
from transduce.training.checkpoint import read_tensors
from transduce.training.loop import Event, Plan, Step

UPDATES = 20


def verify_resume(
    experiment: Experiment, *, updates: int = UPDATES, device: str = "auto", say: Say = lambda line: None
) -> str:
    """Trains twice for a few updates, once with a stop in the middle; says what was compared.

    Parameters, optimizer, random numbers, the whole state and the log must be equal bit for bit. Raises
    TrainingError naming the first things that differ, as they may on a device whose sums are not ordered.
    """
    middle = updates // 2
    short = {"train": {"updates": updates, "validate_every": updates, "save_every": updates, "log_every": 1}}
    tree = merge(experiment.model_dump(), short)
    with tempfile.TemporaryDirectory() as folder:
        whole, broken = Path(folder) / "whole", Path(folder) / "broken"
        say(f"trains {updates} updates without a stop")
        train_run(load_experiment(tree), whole, device=device)
        say(f"trains {middle} updates, stops, and goes on to {updates}")
        try:
            train_run(load_experiment(tree), broken, device=device, watch=stop_after(middle))
        except Interrupted:
            train_run(load_experiment(tree), broken, device=device)
        first, second = contents(whole, updates), contents(broken, updates)
    if differing := [name for name in first | second if not equal(first.get(name), second.get(name))]:
        raise TrainingError(
            f"resumed at update {middle}: {len(differing)} of {len(first)} things differ from the unbroken "
            f"run, first {', '.join(differing[:3])}"
        )
    return (
        f"resumed at update {middle} of {updates}: all {len(first)} tensors, states and log lines are equal"
    )


def stop_after(update: int) -> Callable[[Event, Plan], None]:
    """What stops training at this update as a user would, by Ctrl-C."""

    def watch(event: Event, plan: Plan) -> None:
        if isinstance(event, Step) and event.update == update:
            signal.raise_signal(signal.SIGINT)

    return watch


def contents(folder: Path, update: int) -> dict[str, Any]:
    """All that a run has come to, by name."""
    found: dict[str, Any] = {}
    for path in (
        folder / "model.safetensors",
        *sorted((folder / "state" / str(update)).glob("*.safetensors")),
    ):
        tensors = read_tensors(path)
        found |= {f"{path.name} {name}": tensor for name, tensor in tensors.items()}
    found["state"] = json.loads((folder / "state" / str(update) / "state.json").read_text(encoding="utf-8"))
    for number, line in enumerate((folder / "metrics.jsonl").read_text(encoding="utf-8").split("\n")[:-1], 1):
        found[f"log line {number}"] = {k: v for k, v in json.loads(line).items() if k not in TIMING}
    return found


def equal(first: Any, second: Any) -> bool:
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        return torch.equal(first, second)
    return first == second
