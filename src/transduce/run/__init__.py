"""The run folder, and training and evaluation over it."""

from transduce.run.evaluate import evaluate
from transduce.run.train import train_run

__all__ = ["evaluate", "train_run"]
