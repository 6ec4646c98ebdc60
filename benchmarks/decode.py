"""Decoding speed beside other toolkits, on the same work: translit, 1,024 test words, at most 20 symbols.

Run: python benchmarks/decode.py PEERS MEASURE WORK [--rounds N] [--beams 1,5] [--systems onmt,joey]
[--threads 1]
PEERS holds a virtual environment a toolkit, MEASURE is the script that trains and decodes with them (its
data are used here), WORK is a scratch folder. Models have the same sizes, are trained for 80 updates
each, and decode the same words by the same beam, in turn, on as many threads. A toolkit's start-up (the same
command for one word) is subtracted from its times. Prints one JSON line a measurement: words a second of CPU
time and of wall-clock time, medians over rounds, ratios to the fastest peer, the share of exact outputs, and
how many symbols an output has, without which words a second mean little. For this package it adds decoder
steps a second, and its arithmetic as a share of the speed of a 2048³ matrix product on as many threads.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

UPDATES, WORDS, LIMIT, BATCH = 80, 1024, 20, 64
ENCODER, DECODER, EMBEDDING = 256, 512, 128  # widths: LSTM of each direction, LSTM of the decoder


class Times(NamedTuple):
    wall: float
    cpu: float  # user + system, of the process and its children


def timed(command: Sequence[object], work: Path, stdout: Path) -> Times:
    """Runs a command; raises CalledProcessError where it fails."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = os.environ | {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
    with stdout.open("w") as said, (work / "stderr").open("a") as noise:
        subprocess.run([*map(str, command)], cwd=work, env=environment, check=True, stdout=said, stderr=noise)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Times(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


class System(NamedTuple):
    """One toolkit: the command that decodes a file, its output, and the same for one word."""

    name: str
    command: Callable[[int], Sequence[object]]  # by beam
    start_up: Callable[[int], Sequence[object]]
    output: Callable[[int], Path]


def onmt(binaries: Path, work: Path) -> System:
    (work / "one.sr").write_text("a b\n", encoding="utf-8")

    def command(beam: int, source: str, output: str) -> Sequence[object]:
        files = ["-model", f"onmt/m_step_{UPDATES}.pt", "-src", source, "-output", output]
        sizes = ["-batch_size", BATCH, "-max_length", LIMIT, "-beam_size", beam]
        return [binaries / "onmt_translate", *files, *sizes]

    return System(
        "OpenNMT-py",
        lambda beam: command(beam, "test.sr", f"onmt.out{beam}"),
        lambda beam: command(beam, "one.sr", "onmt.one"),
        lambda beam: work / f"onmt.out{beam}",
    )


def joey(binaries: Path, work: Path) -> System:
    for side in ("sr", "tg"):
        (work / f"one.{side}").write_text("a b\n", encoding="utf-8")

    def command(beam: int, part: str) -> Sequence[object]:
        settings = (work / "joey.yaml").read_text(encoding="utf-8")
        settings = settings.replace("beam_size: 5", f"beam_size: {beam}")
        settings = settings.replace('dev: "test"', f'dev: "{part}"')
        (work / f"joey.{part}{beam}.yaml").write_text(settings, encoding="utf-8")
        names = [f"joey.{part}{beam}.yaml", "--output-path", f"joey.{part}{beam}"]
        return [binaries / "python", "-m", "joeynmt", "test", *names]

    return System(
        "Joey NMT",
        lambda beam: command(beam, "test"),
        lambda beam: command(beam, "one"),
        lambda beam: work / f"joey.test{beam}.dev",
    )


PEERS = {"onmt": onmt, "joey": joey}


def ours(work: Path, name: str, *options: str) -> System:
    for part in ("test", "one"):
        sources = [line.replace(" ", "") for line in (work / f"{part}.sr").read_text("utf-8").splitlines()]
        (work / f"{part}.words").write_text("".join(f"{line}\n" for line in sources), encoding="utf-8")

    def command(beam: int, source: str) -> Sequence[object]:
        search = ["--beam", beam, "--max-length", LIMIT, "--batch-size", BATCH, "--quiet", *options]
        return [sys.executable, "-m", "transduce", "translate", "run", source, *search]

    return System(
        name,
        lambda beam: command(beam, "test.words"),
        lambda beam: command(beam, "one.words"),
        lambda beam: work / f"{name}.stdout",
    )


def train(work: Path) -> None:
    """The same model of this package, trained on the same pairs, as often."""
    side = {"cell": "lstm", "embedding": EMBEDDING, "dropout": 0.2}
    attention = {"name": "additive", "units": DECODER}
    decoder = {**side, "width": DECODER, "attend": "after", "input_feeding": True, "attention": attention}
    settings = {
        "data": {part: str(work / f"{part}.tsv") for part in ("train", "dev", "test")},
        "tokenizer": {side: {"name": "char", "unit": "code_point"} for side in ("source", "target")},
        "model": {"encoder": {**side, "width": ENCODER, "bidirectional": True}, "decoder": decoder},
        "train": {"batch_pairs": 128, "updates": UPDATES, "validate_every": UPDATES, "select": "loss"},
    }
    (work / "ours.yaml").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "transduce", "train", "ours.yaml", "--run", "run"]
    timed(command, work, work / "train.stdout")


def quality(path: Path, work: Path) -> dict[str, float]:
    """The share of outputs that are the reference, and their symbols, spaces aside."""
    outputs, references = (
        path.read_text("utf-8").splitlines(),
        (work / "test.tg").read_text("utf-8").splitlines(),
    )
    if len(outputs) != len(references):
        raise SystemExit(f"{path}: expected {len(references)} outputs; got {len(outputs)}")
    outputs, references = ([line.replace(" ", "") for line in lines] for lines in (outputs, references))
    same = sum(map(str.__eq__, outputs, references)) / len(references)
    return {"exact": round(same, 4), "symbols": round(sum(map(len, outputs)) / len(outputs), 2)}


def measure(systems: Sequence[System], beam: int, rounds: int, work: Path) -> dict[str, Times]:
    """Seconds of each system, start-up subtracted: medians over rounds in which all take their turn."""
    found: dict[str, list[Times]] = {system.name: [] for system in systems}
    for _ in range(rounds):
        for system in systems:
            stdout = work / f"{system.name}.stdout"
            empty = timed(system.start_up(beam), work, stdout)
            full = timed(system.command(beam), work, stdout)
            found[system.name].append(Times(*(a - b for a, b in zip(full, empty, strict=True))))
    return {name: Times(*map(statistics.median, zip(*times, strict=True))) for name, times in found.items()}


def report(systems: Sequence[System], beam: int, found: dict[str, Times], work: Path) -> None:
    fastest = min((found[s.name] for s in systems if not s.name.startswith("transduce")), default=None)
    for system in systems:
        times = found[system.name]
        say = {"system": system.name, "beam": beam, "words_per_cpu_second": round(WORDS / times.cpu, 1)}
        say |= {"words_per_second": round(WORDS / times.wall, 1), **quality(system.output(beam), work)}
        if fastest is not None:
            say |= {"cpu_ratio": round(fastest.cpu / times.cpu, 2)}
            say |= {"wall_ratio": round(fastest.wall / times.wall, 2)}
        print(json.dumps(say), flush=True)


def steps_of_ours(work: Path, beam: int) -> None:
    """Decoder steps a second, and products as a share of the matrix product's speed, in this process."""
    from transduce.packing import pack
    from transduce.quantisation import quantise
    from transduce.translator import Translator

    words = (work / "test.words").read_text("utf-8").splitlines()
    for name, prepare in (("float32", pack), ("int8", quantise)):
        translator = Translator.load(work / "run")
        prepare(translator.model)
        count = Counted(translator.model)
        search = translator.searcher(width=beam, max_length={"ratio": 0.0, "plus": LIMIT})
        start = time.process_time()
        list(translator.stream(words, search=search, batch_size=BATCH))
        seconds = time.process_time() - start
        share = count.products / seconds / peak()
        say = {
            "ours": name,
            "beam": beam,
            "steps": count.steps,
            "steps_per_cpu_second": count.steps / seconds,
        }
        print(json.dumps(say | {"share_of_peak": round(share, 3)}), flush=True)


class Counted:
    """Counts a model's decoder steps, and the multiplications and additions of their products."""

    def __init__(self, model: Any) -> None:
        self.steps, self.products, self.step = 0, 0.0, model.step
        vocabulary = model.decoder.embedding.vocab_size
        gates = (EMBEDDING + DECODER + DECODER) * 4 * DECODER  # input, fed features, state
        self.each = gates + 2 * DECODER * DECODER + DECODER * DECODER + DECODER * vocabulary
        model.step = self.count

    def count(self, memory: Any, state: Any, token: torch.Tensor, **options: Any) -> Any:
        self.steps += 1
        source = memory.mask.shape[1]
        self.products += 2.0 * len(token) * (self.each + 2 * source * DECODER)
        return self.step(memory, state, token, **options)


def peak(size: int = 2048) -> float:
    """Operations a second of CPU time of a float32 matrix product: the best of five."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    times = []
    for _ in range(5):
        start = time.process_time()
        torch.mm(a, b)
        times.append(time.process_time() - start)
    return 2 * size**3 / min(times)


def prepared(script: Path, peers: Path, work: Path, names: Sequence[str]) -> None:
    """The data, and a trained model of each system, unless they are there."""
    untrained = [name for name in names if not (work / name).is_dir()]
    if untrained:
        subprocess.run([sys.executable, script, peers, work, *untrained], check=True)
    if not (work / "run" / "model.safetensors").exists():
        train(work)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("peers", "measure", "work"):
        parser.add_argument(name, type=lambda path: Path(path).resolve())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beams", default="1,5")
    parser.add_argument("--systems", default="onmt,joey")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    torch.set_num_threads(arguments.threads)
    work, names = arguments.work, arguments.systems.split(",")
    work.mkdir(parents=True, exist_ok=True)
    prepared(arguments.measure, arguments.peers, work, names)
    systems = [PEERS[name](arguments.peers / name / "bin", work) for name in names]
    systems += [ours(work, "transduce"), ours(work, "transduce-int8", "--int8")]
    for beam in map(int, arguments.beams.split(",")):
        report(systems, beam, measure(systems, beam, arguments.rounds, work), work)
        steps_of_ours(work, beam)


if __name__ == "__main__":
    main()
