"""Where and with how many threads tensors are computed."""

import os

import torch
from torch import nn

from transduce.errors import ConfigError, unknown

SMALL = 4_000_000  # parameters; below, handing work to threads costs more than they save


def choose_device(name: str = "auto") -> torch.device:
    """The device of this name; `auto` is an NVIDIA card where there is one, then Apple's, then the CPU.

    Of several cards, each process that torchrun started takes its own. Raises ConfigError for a device
    that this machine or this build of torch lacks.
    """
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(kind for kind, found in there.items() if found)
    if name not in there:
        raise ConfigError(f"device: {unknown('device', name, ['auto', *there])}")
    if not there[name]:
        raise ConfigError(f"device: expected one that torch {torch.__version__} finds here; got {name}")
    return (
        torch.device(name, int(os.environ.get("LOCAL_RANK", "0"))) if name == "cuda" else torch.device(name)
    )


def settle_threads(model: nn.Module) -> None:
    """Gives a small model one CPU thread, unless the user chose a number by OMP_NUM_THREADS.

    The products of small recurrent steps take microseconds: threads that wait for each other at every
    one of them make training slower and, on a busy machine, many times slower.
    """
    parameters = sum(parameter.numel() for parameter in model.parameters())
    if "OMP_NUM_THREADS" not in os.environ and parameters < SMALL:
        torch.set_num_threads(1)
