"""What each choice of the attention family is worth: the Luong × Bahdanau grid on two tasks.

Run: python benchmarks/ablation.py [--seeds N] [--tasks reverse dates] [--updates N]
Rows are attention mechanisms; columns say when the query is made and what is fed: `before` queries with
s_{t-1} and feeds the context to the cell (Bahdanau), `after` queries with s_t, with input feeding (Luong) or
without. Each cell is exact match on unseen test data, per cent: the mean of the seeds ± half their range.
Prints a Markdown table a task; runs already done are kept in FOLDER (--keep) and not made again.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from transduce.experiment import load_experiment
from transduce.run import evaluate, train_run

TASKS = {
    "reverse": [
        *(f"data.{part}={{name: copy_reverse}}" for part in ("train", "dev", "test")),
        "tokenizer={source: word, target: word}",
        "train.batch_pairs=64",
    ],
    "dates": [
        *(f"data.{part}={{name: dates}}" for part in ("train", "dev", "test")),
        "train.batch_pairs=64",
    ],
}
UPDATES = {"reverse": 300, "dates": 400}
SIZES = [
    *("model.encoder.width=32", "model.encoder.embedding=32", "model.encoder.dropout=0.0"),
    *("model.decoder.width=64", "model.decoder.embedding=32", "model.decoder.dropout=0.0"),
    *("train.optimizer.lr=3e-3", "train.patience=0", "search.width=1"),
]
ATTENTIONS = {
    "none": "none",
    "additive": "{name: additive, units: 64}",
    "normalised additive": "{name: normalised_additive, units: 64}",
    "dot": "dot",
    "scaled dot": "{name: dot, scaled: true}",
    "general": "general",
    "concat": "{name: concat, units: 64}",
    "location": "{name: location, max_source_length: 60}",
    "multi-head, 4": "{name: multihead, heads: 4}",
    "general, local-m, D = 4": "{name: general, window: {name: local_m, radius: 4}}",
    "general, local-p, D = 4": "{name: general, window: {name: local_p, radius: 4}}",
}
FEEDINGS = {
    "before": ["attend=before"],
    "after, fed": ["attend=after", "input_feeding=true"],
    "after": ["attend=after", "input_feeding=false"],
}


def run(task: str, attention: str, feeding: str, seed: int, updates: int) -> dict[str, float]:
    """Exact match, per cent, and CPU seconds of training."""
    decoder = [f"model.decoder.{option}" for option in FEEDINGS[feeding]]
    decoder.append(f"model.decoder.attention={ATTENTIONS[attention]}")
    plan = [f"train.updates={updates}", f"train.validate_every={updates // 4}", f"seed={seed}"]
    experiment = load_experiment({}, [*TASKS[task], *SIZES, *decoder, *plan])
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        model = train_run(experiment, folder)
        seconds = time.process_time() - start
    return {"exact": 100 * evaluate(model)["metrics"]["exact_match"]["value"], "seconds": seconds}


def cell(results: list[dict[str, float]]) -> str:
    values = [result["exact"] for result in results]
    return f"{statistics.mean(values):.1f} ± {(max(values) - min(values)) / 2:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--updates", type=int, help="instead of each task's own")
    parser.add_argument("--keep", type=Path, help="file of results already made")
    arguments = parser.parse_args()
    kept = json.loads(arguments.keep.read_text()) if arguments.keep and arguments.keep.exists() else {}
    for task in arguments.tasks:
        updates = arguments.updates or UPDATES[task]
        print(f"\n{task}, {updates} updates, {arguments.seeds} seeds\n", flush=True)
        print(
            f"| attention | {' | '.join(FEEDINGS)} | CPU s |\n|---|{'---|' * (len(FEEDINGS) + 1)}", flush=True
        )
        for attention in ATTENTIONS:
            cells, seconds = [], []
            for feeding in FEEDINGS:
                results = []
                for seed in range(1, arguments.seeds + 1):
                    key = f"{task} {updates} {attention} {feeding} {seed}"
                    if key not in kept:
                        kept[key] = run(task, attention, feeding, seed, updates)
                        if arguments.keep:
                            arguments.keep.write_text(json.dumps(kept))
                    results.append(kept[key])
                cells.append(cell(results))
                seconds.append(statistics.median(result["seconds"] for result in results))
            spent = " / ".join(f"{value:.0f}" for value in seconds)
            print(f"| {attention} | {' | '.join(cells)} | {spent} |", flush=True)


if __name__ == "__main__":
    main()
