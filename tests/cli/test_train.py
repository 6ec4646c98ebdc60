"""The commands that train: results in the folder, progress on stderr, nothing on stdout."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.tiny import settings
from transduce.translator import Translator


@pytest.fixture
def config(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(json.dumps({**settings(), "name": "mine"}), encoding="utf-8")
    return "tiny.yaml"


def test_training_tells_of_each_validation_and_goes_on_when_called_again(command, config, tmp_path):
    done = command("train", config)
    assert (done.code, done.out) == (0, "")
    first, second, last = done.err.rstrip("\n").split("\n")
    assert first.split()[:4] == ["transduce:", "update", "5", "epoch"]
    assert "dev loss" in first
    assert second.split()[2] == "10"
    assert last == "transduce: the model is in runs/mine; try: transduce translate runs/mine"
    assert Translator.load(tmp_path / "runs/mine").translate("1 2").text is not None
    again = command("train", config)
    assert again.err.split("\n")[0] == "transduce: going on from update 10 of runs/mine"
    assert again.err.split("\n")[1] == last
    assert "\x1b" not in done.err + again.err


def test_overrides_a_folder_and_silence(command, config, tmp_path):
    done = command("train", config, "train.updates=5", "--run", "here", "--quiet")
    assert done == (0, "", "")
    assert [path.name for path in (tmp_path / "here/state").iterdir()] == ["5"]
    other = command("train", config, "train.updates=5", "seed=2", "--run", "here", "--quiet")
    assert other.code == 2
    assert other.err == (
        "transduce: here: holds a run of another experiment (seed: 1 -> 2); "
        "choose another --run, or --overwrite\n"
    )
    assert command("train", config, "seed=2", "--run", "here", "--overwrite", "--quiet").code == 0


def test_the_demo_trains_translates_and_shows(command, tmp_path, monkeypatch):
    pytest.importorskip("babel")
    from transduce import experiment

    small = [
        "data.train.size=64",
        "data.dev.size=4",
        "data.test.size=4",
        "train.updates=2",
        "train.validate_every=2",
    ]
    small += ["model.encoder.width=8", "model.decoder.width=8"]
    whole = experiment.load_experiment
    monkeypatch.setattr(
        experiment, "load_experiment", lambda name, overrides: whole(name, [*overrides, *small])
    )
    monkeypatch.chdir(tmp_path)
    done = command("demo")
    assert done.code == 0
    assert "4 unseen dates: " in done.out
    assert "12 March 2021  →  " in done.out
    assert (tmp_path / "runs/demo/attention.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "echo '3 July 1999' | transduce translate runs/demo" in done.out
    assert "training a model from nothing" in done.err
    shutil.rmtree(tmp_path / "runs")
    assert command("demo", "--quiet").err == ""


def test_training_needs_what_the_recipe_needs(command, config, monkeypatch):
    import builtins

    real = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] == "babel":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    done = command("train", "dates", "--run", "x")
    assert done.code == 2
    assert done.err == "transduce: dates needs the package 'babel': pip install 'transduce[demo]'\n"


def test_verify_resume_proves_it_on_the_users_own_experiment_and_leaves_nothing(command, trained, tmp_path):
    data = [f"data.{part}={trained.parent / part}.tsv" for part in ("train", "dev")]
    small = ["model.encoder.width=4", "model.decoder.width=4"]
    done = command("train", "g2p", *data, *small, "--run", tmp_path / "run", "--verify-resume")
    assert done.code == 0
    assert done.out.startswith("resumed at update 10 of 20: all ")
    assert "trains 10 updates, stops, and goes on to 20" in done.err
    assert not (tmp_path / "run").exists()


def test_a_device_that_is_not_there_is_refused(command, trained, tmp_path):
    data = [f"data.{part}={trained.parent / part}.tsv" for part in ("train", "dev")]
    for device, message in (("cuda", "got cuda"), ("gpu", "unknown device 'gpu'; did you mean 'cpu'?")):
        done = command("train", "g2p", *data, "--run", tmp_path / "run", "--device", device)
        assert done.code == 2
        assert message in done.err


def test_training_goes_on_where_nobody_reads_what_it_says(tmp_path):
    """As with `2>&1 | head -1`."""
    settings = ["train.updates=8", "train.validate_every=2", "data.train.size=64", "data.dev.size=8"]
    command = [sys.executable, "-m", "transduce", "train", "copy-reverse", *settings]
    process = subprocess.Popen([*command, "--run", str(tmp_path / "run")], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "update      2" in process.stderr.readline() + process.stderr.readline()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    assert (tmp_path / "run" / "README.md").exists()  # written at the very end
