"""Learn to write a sequence backwards: GRU encoder and decoder, multi-head attention, and where it looks.

    python examples/seq2seq_attention.py

Settings are environment variables:
    EPOCHS     passes over the data (30)
    BATCH      pairs an update (128)
    SYNTHETIC  1: 1,024 sequences of 8 symbols out of 12; 0: the hard set, 8,192 of 16 out of 32
"""

import math
import os
import tempfile

from transduce.experiment import load_experiment
from transduce.run import evaluate, train_run
from transduce.training.loop import Event, Plan, Report
from transduce.viewer.terminal import heatmap

EASY, HARD = {"size": 1024, "length": 8, "symbols": 12}, {"size": 8192, "length": 16, "symbols": 32}


def setting(name: str, default: int) -> int:
    """A whole number from the environment."""
    text = os.environ.get(name, str(default))
    if not text.isdecimal() or (name != "SYNTHETIC" and int(text) < 1):
        raise SystemExit(f"{name}: expected a whole number of at least {name != 'SYNTHETIC':d}; got {text!r}")
    return int(text)


def show(event: Event, plan: Plan) -> None:
    """One line an epoch: the mean loss and accuracy over its target tokens, teacher-forced."""
    if isinstance(event, Report):
        print(f"{event.epoch + 1:>5}  {event.loss:>8.4f}  {event.teacher_forced_accuracy:>8.4f}", flush=True)


def main() -> None:
    epochs, batch = setting("EPOCHS", 30), setting("BATCH", 128)
    task = EASY if setting("SYNTHETIC", 1) else HARD
    per_epoch = math.ceil(task["size"] / batch)
    overrides = [
        f"data.{part}.{key}={task[key]}" for part in ("train", "dev", "test") for key in ("length", "symbols")
    ]
    overrides += [f"data.train.size={task['size']}", f"train.batch_pairs={batch}"]
    overrides += [f"train.updates={epochs * per_epoch}", f"train.log_every={per_epoch}"]
    overrides += [f"train.validate_every={5 * per_epoch}", "train.patience=0"]
    print(
        f"copy and reverse: {task['size']:,} sequences, length {task['length']}, vocabulary {task['symbols']}"
    )
    print(f"GRU 64, 4 attention heads, Adam 3e-3, batch {batch}, {epochs} epochs")
    print(f"{'epoch':>5}  {'loss':>8}  {'accuracy':>8}")
    with tempfile.TemporaryDirectory() as run:
        model = train_run(load_experiment("copy-reverse", overrides), run, watch=show)
    metrics = evaluate(model)["metrics"]
    print(f"on 1,024 unseen: tokens {metrics['token_accuracy']['value']:.4f}, whole sequences ", end="")
    print(f"{metrics['exact_match']['value']:.4f}, each symbol read from the model's own output before it")
    print(heatmap(model.translate(" ".join(str(symbol) for symbol in range(task["length"])))).plain)


if __name__ == "__main__":
    main()
