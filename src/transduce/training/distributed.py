"""Several processes that train one model: each takes its share of every batch (torchrun)."""

import atexit
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from torch import distributed, nn

from transduce.data.batch import Batch
from transduce.types import select

Value = TypeVar("Value")
BACKENDS = {"cuda": "nccl"}


class Team(NamedTuple):
    """This process among those that torchrun started; all of them must make the same calls in the same order.

    Gradients are summed as one vector after the whole update, so that a process may cut its share into
    parts for want of memory, or run its decoder step by step, and the others need not know.
    """

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the one process that writes files and talks."""
        return self.rank == 0

    def share(self, batch: Batch) -> Batch:
        """This process's rows of a batch; where there are none, one row whose targets do not count."""
        if self.size == 1:
            return batch
        rows = torch.arange(self.rank, len(batch.target), self.size)
        if len(rows):
            return select(batch, rows)
        idle = select(batch, torch.tensor([0]))
        return idle._replace(target_mask=torch.zeros_like(idle.target_mask))

    def sum(self, values: Sequence[int | float]) -> list[int | float]:
        """Numbers added up over the team, in float64."""
        if self.size == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64, device=_device())
        distributed.all_reduce(total)
        return total.tolist()

    def any(self, wish: bool) -> bool:
        """Whether any process wishes it."""
        return self.sum([wish])[0] > 0

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replaces every gradient by its sum over the team."""
        if self.size == 1:
            return
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
        total = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(total)
        for parameter, part in zip(trained, total.split([p.numel() for p in trained]), strict=True):
            parameter.grad = part.view_as(parameter)

    def gather(self, value: Any) -> list[Any]:
        """Every process's value, in the order of ranks, on every process."""
        if self.size == 1:
            return [value]
        found: list[Any] = [None] * self.size
        distributed.all_gather_object(found, value)
        return found

    def from_leader(self, make: Callable[[], Value]) -> Value:
        """What the leader makes, on every process; the others wait for it."""
        if self.size == 1:
            return make()
        found: list[Any] = [make() if self.leads else None]
        distributed.broadcast_object_list(found, src=0)
        return found[0]

    def in_turn(self, make: Callable[[], Value]) -> Value:
        """What `make` gives each process: the leader first, so that the others find what it has left."""
        if self.leads:
            found = make()
            self.from_leader(lambda: None)
            return found
        self.from_leader(lambda: None)
        return make()


ALONE = Team()


def join(device: str = "cpu") -> Team:
    """Joins the processes that torchrun started; a process by itself is alone.

    nccl carries what lies on NVIDIA cards, gloo all else.
    """
    if int(os.environ.get("WORLD_SIZE") or "1") == 1:
        return ALONE
    if not distributed.is_initialized():
        distributed.init_process_group(BACKENDS.get(device, "gloo"))
        atexit.register(leave)  # a process that ends inside a group may be aborted by its threads
    return Team(distributed.get_rank(), distributed.get_world_size())


def leave() -> None:
    """Ends what `join` began."""
    if distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()


def _device() -> torch.device:
    """Where this team's messages must lie."""
    return torch.device("cuda") if distributed.get_backend() == "nccl" else torch.device("cpu")
