"""Parameters of a model with smaller vocabularies."""

from collections.abc import Collection
from pathlib import Path

import torch
from torch import nn

from transduce.errors import CheckpointError
from transduce.training.checkpoint import read_tensors, state_once

Growth = tuple[int, int]  # of a vocabulary: its size before and now


@torch.no_grad()
def load_extended(path: Path, model: nn.Module, grown: Collection[Growth]) -> None:
    """Sets all parameters to those of a file, but for the rows of symbols that its vocabularies lacked.

    Tables with a row a symbol, of embeddings and of the output layer, keep their own rows for the symbols
    that were added at the end of a vocabulary. Raises CheckpointError naming the file and a tensor that
    does not fit.
    """
    tensors, own = read_tensors(path), state_once(model)
    shapes = {
        name: (tuple(tensor.shape), tuple(own[name].shape)) for name, tensor in tensors.items() if name in own
    }
    wrong = sorted(tensors.keys() ^ own.keys())
    wrong += [
        name for name, (before, now) in shapes.items() if before != now and not grows(before, now, grown)
    ]
    if wrong:
        raise CheckpointError(
            f"{path}: does not fit its configuration, vocabularies aside; {len(wrong)} tensors differ, first "
            f"{wrong[0]!r}"
        )
    for name, tensor in tensors.items():
        own[name][: len(tensor)] = tensor.to(own[name].device)


def grows(before: tuple[int, ...], now: tuple[int, ...], grown: Collection[Growth]) -> bool:
    """Whether a table of one shape is one of the other with a row for each symbol that was added."""
    return before[1:] == now[1:] and (before[0], now[0]) in grown
