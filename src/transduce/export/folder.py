"""The folder that an export is: two graphs, two tokenizers, and what a program must know of them."""

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from transduce.errors import ConfigError, missing_extra
from transduce.files import write_file
from transduce.translator import Translator
from transduce.types import BOS, EOS, PAD, UNK

FORMAT = 1
PACKAGES = ("onnx", "onnxscript")
REFUSED = {"location": "it checks the lengths of each batch, which a graph cannot"}  # attention


def export(translator: Translator, folder: str | Path) -> None:
    """Writes a trained model as ONNX graphs, with its tokenizers and a description, `export.json`.

    `encoder.onnx` turns a batch of sources into memory and a first state; `decoder.onnx` a token, memory and
    state into log-probabilities, attention weights and the next state. Raises ConfigError for a model that
    cannot be a graph, a missing package, or a folder with something in it; then nothing is written.
    """
    folder = Path(folder)
    check_folder(folder)
    for package in PACKAGES:
        if find_spec(package) is None:
            raise missing_extra(package, "onnx", "export")
    check_parts(translator.experiment.model.model_dump(), len(translator.model.members))
    from transduce.export.graphs import graphs_of

    encoder, decoder = graphs_of(*translator.model.members)
    folder.mkdir(parents=True, exist_ok=True)
    settings = translator.experiment.tokenizer
    translator.source_tokenizer.save(folder / "tokenizer.source.json", settings.source)
    translator.target_tokenizer.save(folder / "tokenizer.target.json", settings.target)
    graphs = {"encoder": encoder, "decoder": decoder}
    for name, graph in graphs.items():
        write_file(folder / f"{name}.onnx", graph.program.SerializeToString())
    told = describe(translator) | {name: described(name, graph) for name, graph in graphs.items()}
    told["decoder"]["feedback"] = feedback(decoder.outputs)
    write_file(folder / "export.json", json.dumps(told, ensure_ascii=False, indent=2).encode() + b"\n")


def check_folder(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"--out {folder}: expected a new or an empty folder; got one with something in it")


def check_parts(model: Mapping[str, Any], members: int) -> None:
    if members > 1:
        raise ConfigError(f"export: expected one model; got an ensemble of {members}")
    name = model["decoder"].get("attention", {}).get("name")
    if name in REFUSED:
        raise ConfigError(f"export: attention {name!r} cannot be an ONNX graph: {REFUSED[name]}")


def describe(translator: Translator) -> dict[str, Any]:
    """What a decoding loop must know beside the graphs."""
    limit = translator.searcher().max_length
    never = [PAD, BOS, UNK] if translator.target_tokenizer.complete else [PAD, BOS]
    return {
        "format": FORMAT,
        "transduce": version("transduce"),
        "name": translator.experiment.name,
        "special": {"pad": PAD, "unk": UNK, "bos": BOS, "eos": EOS},
        "source_eos": translator.experiment.model.source_eos,
        "never": never,
        "max_length": {"ratio": limit.ratio, "plus": limit.plus},
        "tokenizers": {"source": "tokenizer.source.json", "target": "tokenizer.target.json"},
    }


def feedback(outputs: Sequence[Any]) -> dict[str, str]:
    """Which output of a step is which input of the next."""
    after = [port.name for port in outputs if port.name.startswith("next.")]
    return {name: "state." + name.removeprefix("next.") for name in after}


def described(name: str, graph: Any) -> dict[str, Any]:
    opset = next(item.version for item in graph.program.opset_import if not item.domain)
    ports = {"inputs": graph.inputs, "outputs": graph.outputs}
    return {
        "file": f"{name}.onnx",
        "opset": opset,
        **{way: [port._asdict() for port in listed] for way, listed in ports.items()},
    }
