"""Memory and start-up of training on few and on many pairs: made words of 4 to 10 letters, to be reversed.

Run: python benchmarks/scaling.py [--pairs 10000 10000000] [--folder DIR]   (Linux: reads /proc)
For each size, two sittings of one run, each a process of its own: the first fits vocabularies, encodes, and
trains 100 updates; the second goes on to 200. Told are the CPU time to the first update and the anonymous
resident memory (RssAnon) at the end of each, so that what is mapped from files does not count.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SETTINGS = ["train.batch_pairs=32", "train.updates=1000000", "train.log_every=1000"]
SITTINGS = (100, 200)


def write_pairs(path: Path, count: int, seed: int) -> None:
    """Lines of a random word and its reverse."""
    rng = np.random.default_rng(seed)
    with open(path, "w", encoding="ascii") as file:
        for start in range(0, count, 100_000):
            size = min(100_000, count - start)
            letters = rng.integers(97, 123, size=(size, 10), dtype=np.uint8).tobytes().decode("ascii")
            lengths = rng.integers(4, 11, size=size).tolist()
            words = (letters[10 * row : 10 * row + length] for row, length in enumerate(lengths))
            file.write("".join(f"{word}\t{word[::-1]}\n" for word in words))


def anonymous() -> float:
    """Anonymous resident memory of this process, MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) / 1000


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def sit(folder: Path, until: int) -> None:
    """One sitting: from where the run stands to this update."""
    from transduce.errors import Interrupted
    from transduce.experiment import load_experiment
    from transduce.run import train_run
    from transduce.run.verify import stop_after
    from transduce.training.loop import Event, Plan, Step

    first: list[float] = []
    stop = stop_after(until)

    def watch(event: Event, plan: Plan) -> None:
        if isinstance(event, Step):
            first.append(cpu())
        stop(event, plan)

    data = [f"data.train={folder / 'train.tsv'}", f"data.dev={folder / 'dev.tsv'}"]
    try:
        train_run(load_experiment({}, [*data, *SETTINGS]), folder / "run", watch=watch)
    except Interrupted:
        print(f"{first[0]:.1f} {anonymous():.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, nargs="+", default=[10_000, 10_000_000])
    parser.add_argument("--folder", type=Path, help="where the files are made; default: the system's")
    parser.add_argument("--sit", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.sit:
        sit(arguments.folder, arguments.sit)
        return
    print("| pairs | sitting | CPU s to the first update | anonymous memory, MB |\n|---|---|---|---|")
    for count in arguments.pairs:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            write_pairs(Path(folder) / "train.tsv", count, seed=1)
            write_pairs(Path(folder) / "dev.tsv", 500, seed=2)
            for number, until in enumerate(SITTINGS, 1):
                command = [sys.executable, __file__, "--folder", folder, "--sit", str(until)]
                done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=True)
                seconds, memory = done.stdout.split()
                print(f"| {count:,} | {number} | {seconds} | {memory} |", flush=True)


if __name__ == "__main__":
    main()
