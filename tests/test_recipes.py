"""Every recipe trains, translates and is evaluated as it stands, but for its size."""

from pathlib import Path

import pytest
import torch

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
        elif "size" in spec.plain():
            overrides.append(f"data.{part}.size={size}")
    for side in ("encoder", "decoder"):
        large = getattr(experiment.model, side).plain()["width"] > 64
        overrides += [f"model.{side}.width=16", f"model.{side}.embedding=8"] * large
    return overrides


@pytest.mark.parametrize("name", recipes.texts())
def test_it_trains_and_scores(name, tmp_path):
    words = ["cat", "dog", "bird", "fish", "cow", "hen", "ant", "bee", "fox", "owl", "pig", "rat"]
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{word}\t{' '.join(word.upper())}\n" for word in words), encoding="utf-8")
    overrides = smaller(load_experiment(name), file)
    model = train_run(load_experiment(name, overrides), tmp_path / "run")
    before = model.experiment.train
    assert (before.updates, before.validate_every) == (4, 2)
    found = evaluate(model)
    assert found["model"] == name
    own = f"data.test={file}" in overrides
    whole = name == "english-telugu"  # its data has one size
    assert found["examples"] == (387 if whole else len(words) if own else PARTS["test"])
    assert train_run(load_experiment(name, overrides), tmp_path / "run").translate("x") == model.translate(
        "x"
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # embeddings and output layer, then per layer and direction 4 (LSTM) or 3 (GRU) gates of
        # width · (inputs + width + 2 biases), then the attention's own
        ("sutskever-2014", 160e6 + 80e6 + (80e6 + 80e3) + 2 * 4 * 4 * 1000 * 2002),  # 384M, as in the paper
        (
            "bahdanau-2015",
            2 * 30e3 * 620  # embeddings
            + 2 * 3 * 1000 * (620 + 1000 + 2)  # encoder, two directions
            + 3 * 1000 * (620 + 1000 + 2 + 2000)  # decoder, with the context fed to it
            + (1000 + 2000 + 1) * 1000  # attention: W_a, U_a, v_a
            + (1000 + 1) * 1000  # s_0 from the backward state
            + 1000 * (1000 + 620 + 2000)  # maxout over pairs
            + (500 + 1) * 30e3,
        ),
        (
            "gnmt-2016",
            2 * 32000 * 1024
            + 2 * 4 * 1024 * (1024 + 1024 + 2)  # encoder's first layer, both ways
            + 4 * 1024 * (2048 + 1024 + 2)  # its second reads both
            + 6 * 4 * 1024 * 2050
            + 8 * 4 * 1024 * (2050 + 1024)  # decoder, with the context fed to every layer
            + (1024 + 1024 + 1) * 1024  # attention
            + 1025 * 32000,
        ),
        (
            "luong-2015",
            2 * 50e3 * 1000
            + 2 * 4 * 4 * 1000 * 2002
            + 4 * 1000 * 1000  # input feeding
            + 1000 * 1000  # general
            + 1000 * 1000
            + 1000  # local-p: W_p, v_p
            + 2000 * 1000  # W_c
            + 1001 * 50e3,
        ),
    ],
)
def test_a_papers_recipe_has_its_size(name, expected):
    """Built without memory, on the meta device, at the vocabulary sizes that the recipe allows."""
    experiment = load_experiment(name)
    sides = (getattr(experiment.tokenizer, side).options for side in ("source", "target"))
    sizes = [side["max_size"] + 4 if "max_size" in side else side["vocab_size"] for side in sides]
    with torch.device("meta"):
        model = experiment.model.build(*sizes)
    assert sum(parameter.numel() for parameter in model.parameters()) == expected
