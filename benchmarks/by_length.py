"""Quality by source length, with attention and with one fixed context: a figure and its table.

Run: python benchmarks/by_length.py [--updates 1500] [--svg FILE]   (extra `plot` for the figure)
The task is to reverse sequences of 1 to 24 symbols out of 12. Both models have a bidirectional GRU encoder
and a GRU decoder of the same widths; without attention, every step reads the encoder's final state.
"""

import argparse
import tempfile
from pathlib import Path

from transduce.experiment import load_experiment
from transduce.metrics import measure_by_length
from transduce.run import evaluate, train_run
from transduce.run.evaluate import read_pairs
from transduce.run.outputs import decode_pairs

BOUNDS = [3, 6, 9, 12, 15, 18, 21, 24]
ATTENTIONS = {"attention": "{name: additive, units: 64}", "one fixed context": "none"}
TASK = [
    *(f"data.{part}={{name: copy_reverse, length: 24, shortest: 1}}" for part in ("train", "dev", "test")),
    *("data.train.size=8192", "data.test.size=2000", "tokenizer={source: word, target: word}"),
]
MODEL = [
    *("model.encoder.width=64", "model.encoder.embedding=32", "model.encoder.dropout=0.0"),
    *("model.decoder.width=128", "model.decoder.embedding=32", "model.decoder.dropout=0.0"),
    *("train.batch_pairs=64", "train.optimizer.lr=2e-3", "train.patience=0", "search.width=1"),
]


def accuracies(attention: str, updates: int) -> dict[int, float]:
    """Token accuracy, per cent, by the longest source of each bucket."""
    plan = [f"train.updates={updates}", f"train.validate_every={updates}"]
    experiment = load_experiment({}, [*TASK, *MODEL, *plan, f"model.decoder.attention={attention}"])
    with tempfile.TemporaryDirectory() as folder:
        model = train_run(experiment, folder)
    print(f"  exact match of all: {evaluate(model)['metrics']['exact_match']['value']:.3f}", flush=True)
    outputs = decode_pairs(model, read_pairs(model, None, print).pairs, model.searcher())
    buckets = measure_by_length(
        ["token_accuracy"],
        outputs.lengths or [],
        outputs.hypotheses,
        outputs.answers,
        outputs.tokenize,
        bounds=BOUNDS,
    )
    return {bucket.longest: 100 * bucket.scores["token_accuracy"].value for bucket in buckets}


def draw(found: dict[str, dict[int, float]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "transduce"  # equal figures give equal files
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.6))
    for (name, values), style in zip(found.items(), ("-o", "--s"), strict=True):
        axes.plot(list(values), list(values.values()), style, label=name)
    axes.set_xlabel("source length (symbols, up to)")
    axes.set_ylabel("tokens right, %")
    axes.set_xticks(BOUNDS)
    axes.set_ylim(0, 103)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--updates", type=int, default=1500)
    parser.add_argument("--svg", type=Path)
    arguments = parser.parse_args()
    found = {}
    for name, attention in ATTENTIONS.items():
        print(name, flush=True)
        found[name] = accuracies(attention, arguments.updates)
    print(f"\n| source length, up to | {' | '.join(map(str, BOUNDS))} |\n|---|{'---|' * len(BOUNDS)}")
    for name, values in found.items():
        print(f"| {name} | {' | '.join(f'{values[bound]:.1f}' for bound in BOUNDS)} |")
    if arguments.svg:
        draw(found, arguments.svg)


if __name__ == "__main__":
    main()
