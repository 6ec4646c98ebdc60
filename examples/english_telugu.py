"""English to Telugu by words: an LSTM of 32 with Luong's dot attention, on real interface strings.

    python examples/english_telugu.py

EPOCHS (20) sets the passes over 6,841 pairs. So small a model learns little: what counts is the way.
"""

import os
import tempfile

from transduce.experiment import load_experiment
from transduce.run import evaluate, train_run
from transduce.training.loop import Event, Plan, Report

PER_EPOCH = 54  # batches of 128


def show(event: Event, plan: Plan) -> None:
    if isinstance(event, Report):
        print(f"Epoch {event.epoch + 1}: loss = {event.loss:.4f}", flush=True)


def main() -> None:
    epochs = int(os.environ.get("EPOCHS", "20"))
    experiment = load_experiment("english-telugu", [f"train.updates={epochs * PER_EPOCH}"])
    with tempfile.TemporaryDirectory() as run:
        model = train_run(experiment, run, watch=show)
    chrf = evaluate(model)["metrics"]["chrf"]
    print(f"test chrF {chrf['value']:.2f}  {chrf['signature']}")
    for text in ("open file", "close", "select all"):
        result = model.translate(text)
        print(f"{text} → {result.text}   attention [target, source]: {result.attention.shape}")


if __name__ == "__main__":
    main()
