"""Trains in children of one process, which import nothing again, and kills them; prints what came of it."""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transduce.cli.app import run as run_command
from transduce.experiment import load_experiment
from transduce.run import train_run
from transduce.training.checkpoint import saves

ROUNDS = 10


def child(work: Callable[[], int | None]) -> int:
    """Starts `work` in a process of its own; its number."""
    number = os.fork()
    if number == 0:
        code = 1
        try:
            code = work() or 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    return number


def code_of(number: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def kill_in_turn(folder: Path, tree: dict[str, Any]) -> list[int]:
    """Kills training at random times, some before it goes on; the newest save after each."""
    experiment, found = load_experiment(tree), []
    random.seed(1)
    for _ in range(ROUNDS):
        number = child(lambda: train_run(experiment, folder) and 0)
        wait_for(folder, newest(folder) + random.randint(0, 5))
        time.sleep(random.uniform(0, 0.05))
        os.kill(number, signal.SIGKILL)
        code_of(number)
        found.append(newest(folder))
    return found


def wait_for(folder: Path, update: int) -> None:
    end = time.monotonic() + 30
    while newest(folder) < update:
        if time.monotonic() > end:
            raise TimeoutError(f"{folder}: no update {update} in half a minute")
        time.sleep(0.001)


def newest(folder: Path) -> int:
    """Reads the newest save, which must be whole."""
    path = folder / "state"
    return json.loads((saves(path)[0] / "state.json").read_text())["state"]["update"] if saves(path) else 0


def signal_command(folder: Path, config: Path, name: str) -> dict[str, Any]:
    """Runs the command, signals it in the midst of training, and waits for its end."""
    log = folder.parent / f"{name}.stderr"

    def work() -> int:
        with open(log, "w", encoding="utf-8") as file:
            os.dup2(file.fileno(), 2)
            return run_command(["train", str(config), "train.updates=100000", "--run", str(folder)])

    number = child(work)
    wait_for(folder, 3)
    os.kill(number, getattr(signal, name))
    began = time.monotonic()
    code = code_of(number)
    return {"code": code, "seconds": time.monotonic() - began, "stderr": log.read_text(encoding="utf-8")}


def main() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where all this runs under nohup
    folder, tree = Path(sys.argv[1]), json.loads(sys.argv[2])
    config = folder / "tiny.yaml"
    config.write_text(json.dumps(tree), encoding="utf-8")
    train_run(load_experiment(tree, ["train.updates=1"]), folder / "warm")  # imports what torch puts off
    found: dict[str, Any] = {"killed": kill_in_turn(folder / "killed", tree)}
    found["finished"] = code_of(child(lambda: train_run(load_experiment(tree), folder / "killed") and 0))
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        found[name] = signal_command(folder / name, config, name)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
