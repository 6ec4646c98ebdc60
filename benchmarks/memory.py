"""Peak anonymous memory of `translate` for a short and a long input: it must not grow with the input.

Run: python benchmarks/memory.py [--lines 1000 100000] [--beam 1]        (Linux: reads /proc)
Trains a small model for a moment, then translates so many lines in a process of its own, whose RssAnon (what
is neither a file nor shared) is read every 20 ms. Prints a JSON line an input, then the ratio of the peaks.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import transduce

TASK = {"name": "copy_reverse", "length": 6, "symbols": 12, "size": 512}
SETTINGS = {
    "data": {"train": TASK, "dev": {**TASK, "size": 32}},
    "tokenizer": {"source": "word", "target": "word"},
    "model": {"encoder": {"width": 32}, "decoder": {"width": 32}},
    "train": {"updates": 100, "validate_every": 100, "select": "loss"},
    "search": {"max_length": {"ratio": 1, "plus": 2}},
}


def anonymous(process: int) -> int:
    """RssAnon in KiB; 0 once the process has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return 0
    found = re.search(r"RssAnon:\s+(\d+)", status)
    return int(found[1]) if found else 0


def peak(run: Path, source: Path, beam: int) -> int:
    """The greatest RssAnon of a process that translates a file, in KiB. Raises where it fails."""
    command = [sys.executable, "-m", "transduce", "translate", run, source, "--beam", str(beam), "--quiet"]
    with source.with_suffix(".out").open("wb") as out, subprocess.Popen(command, stdout=out) as process:
        greatest = 0
        while process.poll() is None:
            greatest = max(greatest, anonymous(process.pid))
            time.sleep(0.02)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return greatest


def write_lines(path: Path, symbols: list[str], lines: int) -> None:
    rng = random.Random(1)
    texts = (" ".join(rng.choices(symbols, k=rng.randint(1, 12))) for _ in range(lines))
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, nargs=2, default=[1_000, 100_000])
    parser.add_argument("--beam", type=int, default=1)
    arguments = parser.parse_args()
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        transduce.train(SETTINGS, run=run)
        symbols = [str(symbol) for symbol in range(12)]
        for lines in arguments.lines:
            source = Path(folder) / f"{lines}.txt"
            write_lines(source, symbols, lines)
            peaks.append(peak(run, source, arguments.beam))
            written = source.with_suffix(".out").read_bytes().count(b"\n")
            print(
                json.dumps({"lines": lines, "written": written, "peak_anonymous_kib": peaks[-1]}), flush=True
            )
    print(f"ratio {peaks[1] / peaks[0]:.3f}")


if __name__ == "__main__":
    main()
