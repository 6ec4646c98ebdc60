"""Known faults of other tools in training and resuming, over whole runs."""

import re
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import transduce
from tests.tiny import experiment, log
from transduce.errors import Interrupted
from transduce.experiment import Experiment
from transduce.run.train import train_run
from transduce.run.verify import contents, equal, stop_after
from transduce.training.checkpoint import Training, load_model, save_model, set_random_states
from transduce.training.loop import Event, Plan, Step

WARMED = ("train.schedule={name: inverse_sqrt, warmup: 4}", "train.optimizer.lr=0.001", "train.updates=8")
SOURCE = Path(transduce.__file__).parent


def steps(config: Experiment, folder: Path, stop: int | None = None) -> list[Step]:
    """The updates of one sitting, which ends after update `stop`."""
    seen: list[Step] = []

    def watch(event: Event, plan: Plan) -> None:
        if isinstance(event, Step):
            seen.append(event)
        if stop is not None:
            stop_after(stop)(event, plan)

    if stop is None:
        train_run(config, folder, watch=watch)
    else:
        with pytest.raises(Interrupted):
            train_run(config, folder, watch=watch)
    return seen


def test_CKP_01_a_schedule_goes_on_where_it_was(tmp_path):
    """0.001 · √(4 / 7) at the seventh update, whether or not the run was stopped after the sixth."""
    config = experiment(*WARMED)
    steps(config, tmp_path / "broken", stop=6)
    resumed = steps(config, tmp_path / "broken")
    assert [step.update for step in resumed] == [7, 8]
    assert resumed[0].lr == pytest.approx(0.000755929, abs=1e-9)
    assert steps(config, tmp_path / "whole")[6:] == resumed
    broken, whole = (contents(tmp_path / name, 8) for name in ("broken", "whole"))
    assert broken.keys() == whole.keys()
    assert any("exp_avg_sq" in name for name in whole)
    assert all(equal(broken[name], whole[name]) for name in whole)


@pytest.mark.parametrize("workers", [0, 2])
def test_TRN_15_epochs_end_with_any_number_of_workers(tmp_path, workers):
    config = experiment(
        "data.train.size=50", "train.updates=12", "train.log_every=12", f"train.workers={workers}"
    )
    seen = steps(config, tmp_path / "run")
    assert [step.epoch for step in seen] == [0] * 4 + [1] * 4 + [2] * 4
    assert seen == steps(experiment("data.train.size=50", "train.updates=12"), tmp_path / "other")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("batches")]


def test_CKP_10_a_save_made_on_a_card_resumes_on_the_cpu(tmp_path):
    """Such a save has the card's random numbers too; its tensors have no device."""
    config = experiment()
    steps(config, tmp_path / "run", stop=4)
    path = tmp_path / "run/state/4/optimizer.safetensors"
    save_file({**load_file(path), "rng.cuda": torch.zeros(1, 16, dtype=torch.uint8)}, path)
    said: list[str] = []
    train_run(config, tmp_path / "run", say=said.append)
    assert said == [f"going on from update 4 of {tmp_path / 'run'}"]
    train_run(config, tmp_path / "whole")
    assert log(tmp_path / "run") == log(tmp_path / "whole")


def test_CKP_10_a_card_without_saved_random_numbers_is_a_warning_only():
    class OnCard(nn.Module):
        def parameters(self, recurse: bool = True) -> Any:
            return iter([SimpleNamespace(is_cuda=True)])

    model, said = OnCard(), []
    training = Training(model, torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1))
    tensors = {"rng": torch.get_rng_state().unsqueeze(0), "0.moment": torch.zeros(1)}
    set_random_states(tensors, training, 3, said.append)
    assert said == ["the save is from another kind of device: random numbers on this one begin anew"]
    assert list(tensors) == ["0.moment"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_CKP_10_half_precision_is_read_as_it_is(tmp_path, dtype):
    torch.manual_seed(0)
    half, full = nn.Linear(3, 2).to(dtype), nn.Linear(3, 2)
    save_model(tmp_path / "model.safetensors", half)
    load_model(tmp_path / "model.safetensors", full)
    assert full.weight.dtype == torch.float32
    assert torch.equal(full.weight, half.weight.float())


def test_CKP_10_nothing_is_loaded_in_a_form_that_holds_a_device_or_code():
    wrong = re.compile(r"torch\.load\b|\bpickle\b\.|import pickle|import joblib|yaml\.unsafe")
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 100
    assert [path.name for path in files if wrong.search(path.read_text(encoding="utf-8"))] == []
