"""Where and with how many threads tensors are computed."""

import os

import torch
from torch import nn

SMALL = 4_000_000  # parameters; below, handing work to threads costs more than they save


def settle_threads(model: nn.Module) -> None:
    """Gives a small model one CPU thread, unless the user chose a number by OMP_NUM_THREADS.

    The products of small recurrent steps take microseconds: threads that wait for each other at every
    one of them make training slower and, on a busy machine, many times slower.
    """
    parameters = sum(parameter.numel() for parameter in model.parameters())
    if "OMP_NUM_THREADS" not in os.environ and parameters < SMALL:
        torch.set_num_threads(1)
