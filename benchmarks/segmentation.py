"""Words against BPE against characters on English–Telugu interface strings: chrF with its signature.

Run: python benchmarks/segmentation.py [--updates 2000] [NAME …]
One model for all: bidirectional GRU encoder and GRU decoder of 256, additive attention, all defaults but the
tokenizers; the best of the dev scores by chrF is tested, with the default search.
"""

import argparse
import tempfile
import time

from transduce.experiment import load_experiment
from transduce.run import evaluate, train_run

TOKENIZERS = {
    "word": "word",
    "bpe 2000": "{name: bpe, vocab_size: 2000}",
    "unigram 2000": "{name: unigram, vocab_size: 2000}",
    "char": "char",
}


def run(tokenizer: str, updates: int) -> str:
    data = [f"data.{part}={{name: english_telugu}}" for part in ("train", "dev", "test")]
    plan = [f"train.updates={updates}", f"train.validate_every={updates // 8}", "train.patience=0"]
    sides = [f"tokenizer.{side}={tokenizer}" for side in ("source", "target")]
    experiment = load_experiment({}, [*data, *plan, *sides, "train.select=chrf", "train.batch_pairs=64"])
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        model = train_run(experiment, folder)
        seconds = time.process_time() - start
    metrics = evaluate(model)["metrics"]
    sizes = f"{model.source_tokenizer.vocab_size:,} / {model.target_tokenizer.vocab_size:,}"
    values = " | ".join(f"{metrics[name]['value']:.2f}" for name in ("chrf", "bleu"))
    exact = 100 * metrics["exact_match"]["value"]
    return f"{sizes} | {values} | {exact:.1f} | {seconds:.0f} |\n{metrics['chrf']['signature']}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[*TOKENIZERS, []], default=[])
    parser.add_argument("--updates", type=int, default=2000)
    arguments = parser.parse_args()
    print("| tokenizer | symbols, source / target | chrF | BLEU | exact match, % | CPU s |")
    print("|---|---|---|---|---|---|")
    for name in arguments.names or TOKENIZERS:
        print(f"| {name} | {run(TOKENIZERS[name], arguments.updates)}", flush=True)


if __name__ == "__main__":
    main()
