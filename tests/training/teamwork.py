"""What every process of a team does in `test_distributed`; the first one saves what came of it."""

import atexit
import sys
from pathlib import Path
from typing import Any

import torch
from torch import distributed

from tests.training.test_learner import batch, learner, model
from transduce.training.distributed import Team, join
from transduce.training.state import TrainState

AVERAGES = ("tokens", "sentences")
WINDOWS = ([(0, 1, 2), (3, 4)], [(5,)], [(1, 2, 3, 4, 5), (0,)])  # in the second, one process has no row


def updates(team: Team, average: str) -> list[Any]:
    """Three updates: what each was, and the parameters after them."""
    network = model()
    teacher = learner(network, lr=0.5, clip=0.3, loss_average=average)
    teacher.team = team
    made = [teacher.update([batch(*rows) for rows in window], TrainState()) for window in WINDOWS]
    return [[tuple(one) for one in made], [parameter.detach() for parameter in network.parameters()]]


def say_whether_left(out: Path) -> None:
    out.with_suffix(".left").write_text(str(not distributed.is_initialized()), encoding="utf-8")


def main() -> None:
    atexit.register(say_whether_left, Path(sys.argv[1]))  # runs after what `join` registers
    team = join()
    found = {average: updates(team, average) for average in AVERAGES}
    found["any"] = [team.any(team.rank == team.size - 1), team.any(False)]
    found["gathered"] = team.gather(f"rank {team.rank}")
    if team.leads:
        torch.save(found, sys.argv[1])


if __name__ == "__main__":
    main()
