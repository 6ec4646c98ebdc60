"""Training speed of one process and of several on the CPU, one thread each: target tokens a second.

Run: python benchmarks/teams.py [--processes 1 2] [--updates 200] [--width 256]
Each trains the recipe `numbers` at that width with batches of 128 pairs; the global batch is the same, so
that all train the same model. Told is the median of the log's figures, the first left out.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def speed(processes: int, updates: int, width: int) -> float:
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(processes),
    ]
    plan = [f"train.updates={updates}", f"train.validate_every={updates}", "train.log_every=20"]
    sizes = [f"model.{side}.width={width}" for side in ("encoder", "decoder")]
    small = ["train.batch_pairs=128", "data.dev.size=50", "data.train.size=8000"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [*launch, "-m", "transduce", "--", "train", "numbers", *plan, *sizes, *small]
        subprocess.run(
            [*command, "--run", str(run), "--device", "cpu", "--quiet"],
            env=environment,
            check=True,
            capture_output=True,
        )
        lines = [
            json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        ]
    return statistics.median([line["tokens_per_second"] for line in lines if line["event"] == "report"][1:])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--width", type=int, default=256)
    arguments = parser.parse_args()
    found = {number: speed(number, arguments.updates, arguments.width) for number in arguments.processes}
    first = found[arguments.processes[0]]
    print("| processes | target tokens a second | ratio |\n|---|---|---|")
    for number, tokens in found.items():
        print(f"| {number} | {tokens:,.0f} | {tokens / first:.2f} |")


if __name__ == "__main__":
    main()
