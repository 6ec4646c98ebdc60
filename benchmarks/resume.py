"""Resumption, the long way: stops at random updates and kills at random instants, each compared bit for bit.

Run: python benchmarks/resume.py [--stops 200] [--kills 100] [--seed N]
Three recipes at small size, dropout on, batches made by the caller and by two threads. A stop is the wish
of Ctrl-C at a random update, sometimes several in one run; a kill is SIGKILL at a random instant with a save
every update. What must be equal to the unbroken run: parameters, optimizer, random numbers, state, log.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from transduce.errors import Interrupted
from transduce.experiment import Experiment, load_experiment
from transduce.run import train_run
from transduce.run.verify import contents, equal, stop_after
from transduce.training.checkpoint import saves

UPDATES = 24
SIDES = ("encoder", "decoder")
SMALL = [f"model.{side}.{key}" for side in SIDES for key in ("width=16", "embedding=8", "dropout=0.3")]
PLAN = [f"train.updates={UPDATES}", "train.validate_every=8", "train.log_every=5", "train.patience=0"]
RECIPES = {
    "copy-reverse": ["data.train.size=200", "data.dev.size=20", "train.batch_pairs=16"],
    "dates": ["data.train.size=200", "data.dev.size=10", "train.batch_pairs=16", "train.moving_average=0.9"],
    "english-telugu": ["train.batch_pairs=64", "model.decoder.attention=additive", "train.accumulate=2"],
}


def experiment(recipe: str, *more: str) -> Experiment:
    return load_experiment(recipe, [*RECIPES[recipe], *SMALL, *PLAN, *more])


def differing(folder: Path, expected: dict) -> list[str]:
    found = contents(folder, UPDATES)
    return [name for name in expected | found if not equal(expected.get(name), found.get(name))]


def stopped(folder: Path, recipe: str, rng: random.Random) -> str:
    """Trains with one to three stops; where they were."""
    points = sorted(rng.sample(range(1, UPDATES), rng.choice([1, 1, 2, 3])))
    workers = [rng.choice([0, 2]) for _ in range(len(points) + 1)]
    for point, count in zip(points, workers, strict=False):
        try:
            train_run(experiment(recipe, f"train.workers={count}"), folder, watch=stop_after(point))
        except Interrupted:
            continue
        raise SystemExit(f"{recipe}: was not stopped at {point}")
    train_run(experiment(recipe, f"train.workers={workers[-1]}"), folder)
    return f"stops {points}, workers {workers}"


def killed(folder: Path, recipe: str, rounds: int, rng: random.Random) -> int:
    """Kills training over and over, anew where it has ended; the rounds after which it can go on."""
    config, resumed = experiment(recipe, "train.save_every=1"), 0
    for _ in range(rounds):
        if saves(folder / "state") and int(saves(folder / "state")[0].name) == UPDATES:
            folder = folder.with_name(folder.name + "x")
        before = [path.name for path in saves(folder / "state")]
        number = os.fork()
        if number == 0:
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115
            train_run(config, folder)
            os._exit(0)
        time.sleep(rng.uniform(0.05, 0.6))
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
        newest = saves(folder / "state")
        resumed += not before or bool(newest)
    train_run(config, folder)
    return resumed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stops", type=int, default=200)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng, bad = random.Random(arguments.seed), 0
    with tempfile.TemporaryDirectory() as base:
        expected = {}
        for recipe in RECIPES:
            train_run(experiment(recipe), Path(base) / recipe)
            expected[recipe] = contents(Path(base) / recipe, UPDATES)
        for number in range(arguments.stops):
            recipe, folder = rng.choice(list(RECIPES)), Path(base) / f"stop-{number}"
            where = stopped(folder, recipe, rng)
            if names := differing(folder, expected[recipe]):
                bad += 1
                print(f"{recipe}, {where}: differs in {', '.join(names[:3])}")
        print(f"{arguments.stops} runs stopped and resumed: {arguments.stops - bad} bit-equal", flush=True)
        resumed = 0
        for recipe in RECIPES:
            rounds = arguments.kills // len(RECIPES) + (recipe == "dates") * (arguments.kills % len(RECIPES))
            folder = Path(base) / f"killed-{recipe}"
            resumed += killed(folder, recipe, rounds, rng)
            last = max(folder.parent.glob(f"{folder.name}*"), key=lambda path: len(path.name))
            names = differing(last, expected[recipe])
            bad += bool(names)
            print(f"{recipe}: killed {rounds} times, {'bit-equal' if not names else names[:3]}", flush=True)
        print(f"{resumed} of {arguments.kills} kills left a save that training went on from")
    raise SystemExit(1 if bad or resumed < arguments.kills else 0)


if __name__ == "__main__":
    main()
