"""Two processes with gloo equal one with the same global batches."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.training.teamwork import AVERAGES, updates
from tests.training.test_learner import batch
from transduce.training.distributed import ALONE, Team, join


def test_a_process_by_itself_is_alone() -> None:
    assert join() == ALONE == Team(0, 1)
    assert ALONE.leads
    assert ALONE.sum([1, 2.5]) == [1, 2.5]
    assert ALONE.any(True)
    assert not ALONE.any(False)
    assert ALONE.gather("x") == ["x"]
    given = batch(0, 1, 2)
    assert ALONE.share(given) is given


@pytest.mark.parametrize("size", [2, 3, 5])
def test_shares_are_all_rows_once(size: int) -> None:
    given = batch(0, 1, 2, 3)
    shares = [Team(rank, size).share(given) for rank in range(size)]
    real = [share.target[share.target_mask.any(dim=1)] for share in shares]
    assert sorted(torch.cat(real).tolist()) == sorted(given.target.tolist())
    assert all(len(share.target) >= 1 for share in shares)  # one that has none still takes part
    assert sum(int(share.target_mask.sum()) for share in shares) == int(given.target_mask.sum())


def test_two_processes_equal_one(tmp_path: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    command = [*torchrun, "-m", "tests.training.teamwork", str(tmp_path / "out.pt")]
    subprocess.run(
        command, env=environment, cwd=Path(__file__).parents[2], check=True, capture_output=True, timeout=120
    )
    together = torch.load(tmp_path / "out.pt")
    for average in AVERAGES:
        (alone, expected), (made, found) = updates(ALONE, average), together[average]
        for one, two in zip(alone, made, strict=True):
            assert two == pytest.approx(one[:4] + two[4:], rel=1e-5)
        for theirs, ours in zip(expected, found, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)
    assert together["any"] == [True, False]
    assert together["gathered"] == ["rank 0", "rank 1"]
    assert (tmp_path / "out.left").read_text(encoding="utf-8") == "True"  # or be aborted
