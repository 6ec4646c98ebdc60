"""The average of models is a run like any other."""

import copy
import re
from pathlib import Path

import pytest
import torch

from tests import translators
from tests.helpers import same
from tests.tiny import experiment
from transduce.errors import CheckpointError, ConfigError
from transduce.run import train_run
from transduce.run.average import average_runs, average_saves
from transduce.training.checkpoint import read_tensors, save_model
from transduce.translator import Translator

LINES = ["abc", "kl", "aaghi"]


def made(folder: Path, seed: int, dtype: torch.dtype = torch.float32, kind: str = "gru+additive") -> Path:
    translator = translators.make(kind, dtype, seed=seed)
    translator.save(folder)
    return folder


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    return read_tensors(folder / "model.safetensors")


def test_the_average_of_a_model_with_itself_is_itself(tmp_path):
    run = made(tmp_path / "a", 1)
    average_runs([run, run, run], tmp_path / "out")
    assert (tmp_path / "out" / "model.safetensors").read_bytes() == (run / "model.safetensors").read_bytes()


def test_every_parameter_is_the_mean_summed_in_float64(tmp_path):
    runs = [made(tmp_path / str(seed), seed) for seed in (1, 2, 3)]
    returned = average_runs(runs, tmp_path / "out")
    given, out = [tensors(run) for run in runs], tensors(tmp_path / "out")
    assert out.keys() == given[0].keys()
    for name, tensor in out.items():
        exact = torch.stack([one[name].double() for one in given]).mean(dim=0).float()
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, exact)
    loaded = Translator.load(tmp_path / "out")
    assert loaded.translate(LINES) == returned.translate(LINES)
    assert loaded.score(LINES, LINES) == returned.score(LINES, LINES)
    assert loaded.score(LINES, LINES) not in [Translator.load(run).score(LINES, LINES) for run in runs]
    assert loaded.experiment.name == "out"
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# out\n")
    assert "the best models of 3 runs" in card
    assert all(f"`{run / 'model.safetensors'}`" in card for run in runs)


def test_tied_tensors_stay_tied(tmp_path):
    tied = ["model.decoder.tied=true", "model.share_embeddings=true", "tokenizer.shared=true"]
    runs = []
    for updates in (1, 3):
        settings = experiment(*tied, f"train.updates={updates}", f"train.validate_every={updates}")
        train_run(settings, tmp_path / str(updates))
        runs.append(tmp_path / str(updates))
    (model,) = average_runs(runs, tmp_path / "out").model.members
    assert model.encoder.embedding.table.weight is model.decoder.embedding.table.weight
    assert model.decoder.get_submodule("output").weight is model.decoder.embedding.table.weight
    name = "encoder.embedding.table.weight"
    same(tensors(tmp_path / "out")[name], (tensors(runs[0])[name] + tensors(runs[1])[name]) / 2)


def test_the_last_saves_of_a_run(tmp_path):
    run = made(tmp_path / "run", 1)
    for update in (5, 10, 15):
        (run / "state" / str(update)).mkdir(parents=True)
        model = translators.make("gru+additive", torch.float32, seed=update).model
        save_model(run / "state" / str(update) / "model.safetensors", model)
    average_saves(run, 2, tmp_path / "out")
    ten, fifteen = tensors(run / "state" / "10"), tensors(run / "state" / "15")
    for name, tensor in tensors(tmp_path / "out").items():
        torch.testing.assert_close(tensor, (ten[name] + fifteen[name]) / 2)
    assert "the last 2 saves of one run" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    with pytest.raises(ConfigError, match=r"run: expected 4 saves; it has 3; train\.keep_saves"):
        average_saves(run, 4, tmp_path / "other")
    with pytest.raises(ConfigError, match="--last: expected at least 2 saves; got 1"):
        average_saves(run, 1, tmp_path / "other")


def test_what_cannot_be_averaged_is_refused_naming_the_first_difference(tmp_path):
    one, other = made(tmp_path / "a", 1), made(tmp_path / "b", 2, kind="gru+multihead")
    message = r"b: expected the model .* of .*a; .*model\.decoder\.attend: 'before' against 'after'"
    with pytest.raises(ConfigError, match=message):
        average_runs([one, other], tmp_path / "out")
    for side in ("source", "target"):
        strange = translators.make("gru+additive", torch.float32)
        strange.target_tokenizer = copy.deepcopy(strange.target_tokenizer)  # one serves both sides
        getattr(strange, f"{side}_tokenizer").symbols[3] = "Ω"
        strange.save(tmp_path / side)
        with pytest.raises(ConfigError, match=rf"{side} vocabulary\.symbols\.3: 'd' against 'Ω'"):
            average_runs([one, tmp_path / side], tmp_path / "out")
    with pytest.raises(ConfigError, match="two runs or more"):
        average_runs([one], tmp_path / "out")
    with pytest.raises(CheckpointError, match=r"nowhere: expected a run folder"):
        average_runs([one, tmp_path / "nowhere"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    run = made(tmp_path / "a", 1)
    before = (run / "model.safetensors").read_bytes()
    for out in (run, run / "config.yaml"):
        with pytest.raises(ConfigError, match=re.escape(f"{out}: expected a new or empty folder")):
            average_runs([run, run], out)
    assert (run / "model.safetensors").read_bytes() == before
