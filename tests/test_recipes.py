"""Every recipe trains, translates and is evaluated as it stands, but for its size."""

from pathlib import Path

import pytest

from transduce import recipes
from transduce.experiment import Experiment, load_experiment
from transduce.run import evaluate, train_run

PARTS = {"train": 40, "dev": 5, "test": 5}


def smaller(experiment: Experiment, file: Path) -> list[str]:
    """Overrides that make a recipe train in a second."""
    overrides = ["train.updates=4", "train.validate_every=2"]
    for part, size in PARTS.items():
        spec = getattr(experiment.data, part)
        if spec is None or "path" in spec.options:
            overrides += [f"data.{part}={file}"] if part != "dev" else []
        elif "size" in spec.options:
            overrides.append(f"data.{part}.size={size}")
    for side in ("encoder", "decoder"):
        width = getattr(experiment.model, side).plain()["width"]
        overrides += [f"model.{side}.width=16"] * (width > 64)
    return overrides


@pytest.mark.parametrize("name", recipes.texts())
def test_it_trains_and_scores(name, tmp_path):
    if name == "dates":
        pytest.importorskip("babel")
    words = ["cat", "dog", "bird", "fish", "cow", "hen", "ant", "bee", "fox", "owl", "pig", "rat"]
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{word}\t{' '.join(word.upper())}\n" for word in words), encoding="utf-8")
    overrides = smaller(load_experiment(name), file)
    model = train_run(load_experiment(name, overrides), tmp_path / "run")
    before = model.experiment.train
    assert (before.updates, before.validate_every) == (4, 2)
    found = evaluate(model)
    assert found["model"] == name
    assert found["examples"] == (len(words) if f"data.test={file}" in overrides else PARTS["test"])
    assert train_run(load_experiment(name, overrides), tmp_path / "run").translate("x") == model.translate(
        "x"
    )
