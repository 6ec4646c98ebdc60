"""A run folder of format 1, made once and never again: every later version loads it, translates and goes on.

`expected.json` holds what the version that trained it said. A test that fails here is no reason to make
the folder anew: users have such folders too.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import transduce
from transduce.experiment import load_experiment
from transduce.run import evaluate, train_run

GOLDEN = Path(__file__).parent / "golden"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))


def test_it_translates_as_on_the_day_it_was_made():
    model = transduce.load(GOLDEN / "run", device="cpu")
    for line in EXPECTED["lines"]:
        found = model.translate(line["source"])
        assert (found.text, found.tokens, found.finished) == (line["text"], line["tokens"], line["finished"])
        assert found.log_prob == pytest.approx(line["log_prob"], abs=1e-4)
        np.testing.assert_allclose(found.attention, line["attention"], atol=1e-4)


def test_it_scores_as_on_the_day_it_was_made():
    metrics = evaluate(transduce.load(GOLDEN / "run", device="cpu"))["metrics"]
    for name, value in EXPECTED["metrics"].items():
        assert metrics[name]["value"] == pytest.approx(value, abs=1e-6)


def test_training_goes_on_from_its_save(tmp_path):
    shutil.copytree(GOLDEN, tmp_path / "golden")
    said: list[str] = []
    experiment = load_experiment(str(tmp_path / "golden/golden.yaml"), ["train.updates=402"])
    train_run(experiment, tmp_path / "golden/run", device="cpu", say=said.append)
    assert any(line.startswith("going on from update 400") for line in said)
    lines = (tmp_path / "golden/run/metrics.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    assert [json.loads(line)["update"] for line in lines if '"validation"' in line] == [
        100,
        200,
        300,
        400,
        402,
    ]
