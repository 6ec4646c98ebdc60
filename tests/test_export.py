"""Exported graphs, run by onnxruntime from nothing but the folder, against the model."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

from tests.translators import lines, made, make
from transduce.attention import Attention
from transduce.errors import ConfigError
from transduce.export import export
from transduce.export import folder as export_folder
from transduce.layers.cells import Cell
from transduce.tokenizers import load_tokenizer
from transduce.translator import Translator
from transduce.translator.ensembles import join
from transduce.types import Source

GRU_BEFORE = {"name": "gru", "reset": "before"}
FIRST_WAYS = {"bidirectional": "first", "layers": 3, "residual_from": 3, "layer_norm": True}
MODELS: Mapping[str, tuple[Any, Any]] = {  # encoder, decoder; together every attention, window and cell
    "additive": ({"cell": "gru"}, {"cell": "gru", "attend": "before", "readout": "maxout"}),
    "normalised_additive local_m": (
        {"cell": "lstm", "reverse_source": True},
        {"cell": "lstm", "initial": "backward"},
    ),
    "concat": ({"cell": GRU_BEFORE}, {"cell": GRU_BEFORE, "layers": 2, "feed_layers": "all"}),
    "dot": ({"cell": "tanh", "bidirectional": False}, {"cell": "tanh", "initial": "copy", "tied": True}),
    "general local_p": (
        {"cell": "lstm", **FIRST_WAYS},
        {"cell": "lstm", "layers": 2, "attend_layer": "bottom"},
    ),
    "multihead": ({"cell": "gru"}, {"cell": "lstm", "input_feeding": False}),
    "none": ({"cell": "tanh", "layers": 2}, {"cell": "gru", "readout": "linear", "initial": "zero"}),
}


def settings(name: str) -> dict[str, Any]:
    attention, _, window = name.partition(" ")
    encoder, decoder = MODELS[name]
    chosen: dict[str, Any] = {"name": attention} | (
        {"window": {"name": window, "radius": 2}} if window else {}
    )
    sizes = {"width": 8, "embedding": 8}
    return {"encoder": {**sizes, **encoder}, "decoder": {**sizes, **decoder, "attention": chosen}}


def test_every_attention_and_cell_is_here() -> None:
    names = {name.partition(" ")[0] for name in MODELS}
    assert names | set(export_folder.REFUSED) == set(Attention.family)
    cells = [side["cell"] for pair in MODELS.values() for side in pair]
    assert {cell for cell in cells if isinstance(cell, str)} == set(Cell.family)


class Exported:
    """A reader of the folder that knows only what export.json says."""

    def __init__(self, folder: Path) -> None:
        self.about = json.loads((folder / "export.json").read_text("utf-8"))
        self.encoder, self.decoder = (
            onnxruntime.InferenceSession(folder / self.about[graph]["file"])
            for graph in ("encoder", "decoder")
        )
        self.source, self.target = (
            load_tokenizer(folder / self.about["tokenizers"][side]) for side in ("source", "target")
        )

    def run(self, graph: str, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Runs a graph, and checks every tensor against what is said of it."""
        about, sizes = self.about[graph], {}
        fed = {port["name"]: given[port["name"]] for port in about["inputs"]}
        outputs = dict(
            zip(
                [port["name"] for port in about["outputs"]],
                getattr(self, graph).run([port["name"] for port in about["outputs"]], fed),
                strict=True,
            )
        )
        for port in [*about["inputs"], *about["outputs"]]:
            tensor = {**fed, **outputs}[port["name"]]
            assert str(tensor.dtype) == port["type"]
            for size, axis in zip(tensor.shape, port["shape"], strict=True):
                assert size == sizes.setdefault(axis, size) if isinstance(axis, str) else size == axis
        return outputs

    def read(self, texts: list[str]) -> dict[str, np.ndarray]:
        """A padded batch: tokens and mask."""
        end = [self.about["special"]["eos"]] * self.about["source_eos"]
        rows = [[*self.source.encode(text).ids, *end] for text in texts]
        tokens = np.full((len(rows), max(map(len, rows))), self.about["special"]["pad"])
        for row, ids in enumerate(rows):
            tokens[row, : len(ids)] = ids
        lengths = np.array([[len(row)] for row in rows])
        return {"tokens": tokens, "mask": np.arange(tokens.shape[1]) < lengths}

    def greedy(self, texts: list[str]) -> list[str]:
        """The likeliest token at each step, until all have ended or reached their limit."""
        about, source = self.about, self.read(texts)
        known = self.run("encoder", source)
        eos = about["special"]["eos"]
        real = source["mask"].sum(1) - about["source_eos"]
        limit = about["max_length"]["ratio"] * real + about["max_length"]["plus"]
        token, written = np.full(len(texts), about["special"]["bos"]), [[] for _ in texts]
        ended = np.zeros(len(texts), dtype=bool)
        while not ended.all():
            outputs = self.run("decoder", {"token": token, **known})
            log_probs = outputs["log_probs"]
            log_probs[:, about["never"]] = -np.inf
            token = log_probs.argmax(1)
            for row in np.flatnonzero(~ended):
                if token[row] == eos or len(written[row]) >= int(limit[row]):
                    ended[row] = True
                else:
                    written[row].append(int(token[row]))
            known |= {name: outputs[after] for after, name in about["decoder"]["feedback"].items()}
        return [self.target.decode(ids) for ids in written]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.usefixtures("unchecked")  # shape checks would fix the sizes that graphs leave open
def test_graphs_equal_the_model(name: str, tmp_path: Path) -> None:
    translator = made(settings(name), torch.float32)
    export(translator, tmp_path / "out")
    exported, texts = Exported(tmp_path / "out"), lines(12)
    check_numbers(translator, exported, texts)
    expected = translator.translate(texts, search=translator.searcher(width=1), attention=False)
    assert len({result.text for result in expected}) > 3
    assert exported.greedy(texts) == [result.text for result in expected]
    assert exported.greedy(texts[:1]) == [expected[0].text]  # alone, without padding


@torch.no_grad()
def check_numbers(translator: Translator, exported: Exported, texts: list[str]) -> None:
    """Two steps on a padded batch of other sizes than the exporter saw."""
    given = exported.read(texts)
    memory, state = translator.model.start(Source(*map(torch.from_numpy, (given["tokens"], given["mask"]))))
    known = exported.run("encoder", given)
    for symbol in (2, 7):
        token = np.full(len(texts), symbol)
        state, output = translator.model.step(memory, state, torch.from_numpy(token), weights=True)
        found = exported.run("decoder", {"token": token, **known})
        np.testing.assert_allclose(found["log_probs"], output.log_probs.numpy(), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found["weights"], output.weights.numpy(), atol=1e-5)
        padding = np.broadcast_to(~given["mask"][:, None, None], found["weights"].shape)
        assert (found["weights"][padding] == 0).all()
        known |= {name: found[after] for after, name in exported.about["decoder"]["feedback"].items()}


def test_a_model_that_cannot_be_a_graph_is_refused_by_name(tmp_path: Path) -> None:
    model = {"encoder": {"width": 8}, "decoder": {"width": 8, "attention": "location"}}
    with pytest.raises(ConfigError, match="attention 'location' cannot be an ONNX graph"):
        export(made(model), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_ensemble_is_refused(tmp_path: Path) -> None:
    several = join(["one", "two"], [make("gru+additive"), make("gru+additive", seed=4)])
    with pytest.raises(ConfigError, match="expected one model; got an ensemble of 2"):
        export(several, tmp_path / "out")


@pytest.mark.usefixtures("unchecked")
def test_what_torch_cannot_export_is_one_line(tmp_path: Path) -> None:
    """A normalizer that looks at numbers, as no graph can."""
    translator = make("gru+additive", torch.float32)
    translator.model.decoder.attention.normalizer = Looking()
    with pytest.raises(ConfigError, match="export: a part of this model cannot be an ONNX graph: ") as caught:
        export(translator, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


class Looking(nn.Module):
    def forward(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return scores.softmax(-1) if float(scores.sum()) > 0 else scores.log_softmax(-1).exp()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("mine")
    for taken in (tmp_path, tmp_path / "note"):
        with pytest.raises(ConfigError, match="expected a new or an empty folder"):
            export(make("gru+additive"), taken)
    assert [path.name for path in tmp_path.iterdir()] == ["note"]


@pytest.mark.parametrize("package", export_folder.PACKAGES)
def test_a_missing_package_is_named_with_the_line_that_installs_it(package, monkeypatch, tmp_path) -> None:
    found = export_folder.find_spec
    monkeypatch.setattr(export_folder, "find_spec", lambda name: None if name == package else found(name))
    with pytest.raises(ConfigError, match=rf"{package}.*pip install 'transduce\[onnx\]'"):
        export(make("gru+additive"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
