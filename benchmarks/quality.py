"""Quality on real data with all defaults: trains, evaluates the test part, prints each run and the mean.

Run: python benchmarks/quality.py FOLDER NAME … [--seeds N] [--set key.path=value …]
FOLDER holds NAME_train.tsv, NAME_dev.tsv and NAME_test.tsv, as the SIGMORPHON g2p shared tasks lay them out.
WER in the tables of those tasks is 100 · (1 - exact match); PER is our `wer` over phones.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

import transduce
from transduce.run import evaluate


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--set", nargs="*", default=[], dest="overrides")
    arguments = parser.parse_args()
    errors = []
    for name in arguments.names:
        for seed in range(1, arguments.seeds + 1):
            files = [f"data.{part}={arguments.folder / name}_{part}.tsv" for part in ("train", "dev", "test")]
            with tempfile.TemporaryDirectory() as run:
                overrides = (*files, f"seed={seed}", *arguments.overrides)
                metrics = evaluate(transduce.train("g2p", *overrides, run=run))["metrics"]
            errors.append(100 * (1 - metrics["exact_match"]["value"]))
            per = metrics["wer"]["value"]
            print(f"{name:<10} seed {seed}  WER {errors[-1]:6.2f}  PER {per:6.2f}", flush=True)
    print(f"mean WER {statistics.mean(errors):.2f} over {len(errors)} runs")


if __name__ == "__main__":
    main()
