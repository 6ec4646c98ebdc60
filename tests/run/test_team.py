"""The command under torchrun: two processes train what one trains, and only one of them writes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.tiny import experiment, log, settings
from transduce.cli import streams
from transduce.data.lines import STDIN
from transduce.errors import ConfigError
from transduce.run import train_run
from transduce.training.checkpoint import read_tensors, saves
from transduce.translator import Translator

ROOT = Path(__file__).parents[2]
OVERRIDES = (
    "model.encoder.dropout=0",
    "model.decoder.dropout=0",
    "train.updates=6",
    "train.validate_every=3",
)


def torchrun(processes: int, *command: str) -> subprocess.CompletedProcess[str]:
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(processes),
    ]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    return subprocess.run(
        [*launch, "-m", "transduce", "--", *command],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
    )


def test_two_processes_train_what_one_trains(tmp_path):
    config, run = tmp_path / "tiny.yaml", tmp_path / "two"
    config.write_text(json.dumps(settings(*OVERRIDES)), encoding="utf-8")
    done = torchrun(2, "train", str(config), "--run", str(run), "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("update      3") == 1  # one of them talks
    train_run(experiment(*OVERRIDES), tmp_path / "one", device="cpu")
    expected, found = (
        read_tensors(folder / "state/6/model.safetensors") for folder in (tmp_path / "one", run)
    )
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, rtol=0, atol=1e-5)
    for one, two in zip(log(tmp_path / "one"), log(run), strict=True):
        assert two["event"] == one["event"]
        assert two.get("tokens") == one.get("tokens")
        if "loss" in one:
            assert two["loss"] == pytest.approx(one["loss"], rel=1e-5)
    assert [path.name for path in saves(run / "state")] == ["6", "3"]
    assert read_tensors(run / "state/6/optimizer.safetensors")["rng"].shape[0] == 2
    said: list[str] = []
    train_run(
        experiment(*OVERRIDES, "train.updates=8"), run, device="cpu", say=said.append
    )  # on by one alone
    assert any("going on from update 6" in line for line in said)


def test_a_team_translates_each_line_once_in_order(tmp_path):
    train_run(experiment("train.updates=3", "train.validate_every=3"), tmp_path / "run", device="cpu")
    lines = ["0 1 2", "", "3 3", "9 1", "2"] * 30
    (tmp_path / "lines.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    done = torchrun(2, "translate", str(tmp_path / "run"), str(tmp_path / "lines.txt"), "--batch-size", "7")
    assert done.returncode == 0, done.stderr
    expected = [result.text for result in Translator.load(tmp_path / "run").translate(lines)]
    assert done.stdout.split("\n")[:-1] == expected
    assert done.stderr.count("never seen in training") == 1


def test_a_team_reads_no_standard_input(monkeypatch):
    monkeypatch.setattr(streams, "TEAM", 2)
    with pytest.raises(ConfigError, match="every process of torchrun can read; got standard input"):
        next(streams.read_input(STDIN))
