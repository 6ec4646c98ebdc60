"""The run folder, and training and evaluation over it."""

from transduce.run.evaluate import evaluate, score_texts
from transduce.run.train import train_run

__all__ = ["evaluate", "score_texts", "train_run"]
