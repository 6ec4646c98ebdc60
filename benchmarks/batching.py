"""Batch invariance of trained models: three recipes, each decoded alone and in batches of 7 and 64.

Run: python benchmarks/batching.py [--updates N] [--lines N] [WORK]
Beam 1 and beam 5, float32 and int8. What may differ is what `transduce evaluate RUN --check-batching` lets
pass: the last digits of a score, and outputs that tie. Ends with exit status 1 where anything else does.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from transduce.experiment import Experiment, load_experiment
from transduce.packing import pack
from transduce.quantisation import quantise
from transduce.run import train_run
from transduce.run.evaluate import read_pairs
from transduce.translator import Translator
from transduce.translator.batching import check_batching

RECIPES = {
    "copy-reverse": (),
    "dates": ("data.train.size=20000", "data.dev.size=500"),
    "english-telugu": ("train.batch_pairs=64",),
}


def experiment(recipe: str, updates: int) -> Experiment:
    plan = [f"train.updates={updates}", f"train.validate_every={updates}", "train.patience=0"]
    return load_experiment(recipe, [*RECIPES[recipe], *plan])


def check(folder: Path, lines: int, name: str) -> bool:
    """Reports on one trained model; whether it passed. To its sources come nothing, and unknown symbols."""
    held_out = read_pairs(Translator.load(folder), None, say=lambda _: None).pairs
    texts, passed = [*(pair.source for pair in held_out[:lines]), "", "☃ ☃"], True
    for precision, prepare in (("float32", pack), ("int8", quantise)):
        translator = Translator.load(folder)
        prepare(translator.model)
        for width in (1, 5):
            report = check_batching(translator, texts, search=translator.searcher(width=width))
            print(f"{name} {precision} beam {width}: " + "\n  ".join(report.remarks()), flush=True)
            passed &= report.passed
    return passed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, nargs="?")
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--lines", type=int, default=200)
    arguments = parser.parse_args()
    work = arguments.work or Path(tempfile.mkdtemp())
    passed = True
    for recipe in RECIPES:
        config = experiment(recipe, arguments.updates)
        train_run(config, work / recipe, say=lambda _: None)
        passed &= check(work / recipe, arguments.lines, recipe)
    sys.exit(not passed)


if __name__ == "__main__":
    main()
