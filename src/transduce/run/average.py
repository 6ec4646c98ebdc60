"""One model whose parameters are the mean of several's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from transduce.errors import CheckpointError, ConfigError
from transduce.files import write_file
from transduce.model import Seq2Seq
from transduce.training.checkpoint import load_model, saves, state_once
from transduce.translator import Translator
from transduce.translator.differences import first_difference

MODEL = "model.safetensors"


def average_runs(folders: Sequence[Path], out: Path) -> Translator:
    """Writes a run folder whose model is the mean of these runs' best models, and returns it.

    The runs must have one model configuration and the same tokenizers. Raises ConfigError naming the
    first difference, and CheckpointError naming a file at fault.
    """
    if len(folders) < 2:
        raise ConfigError(f"average: expected two runs or more, or --last with one; got {len(folders)}")
    first, *others = [Translator.load(folder) for folder in folders]
    for folder, other in zip(folders[1:], others, strict=True):
        check_alike(folders[0], first, folder, other)
    paths = [folder / MODEL for folder in folders]
    return write(first, paths, out, f"the best models of {len(paths)} runs")


def average_saves(folder: Path, last: int, out: Path) -> Translator:
    """Writes a run folder whose model is the mean of the last saves of one run, and returns it.

    Raises ConfigError where the run has fewer saves.
    """
    if last < 2:
        raise ConfigError(f"average --last: expected at least 2 saves; got {last}")
    found = saves(folder / "state")
    if len(found) < last:
        raise ConfigError(
            f"{folder}: expected {last} saves; it has {len(found)}; train.keep_saves says how many are kept"
        )
    paths = [save / MODEL for save in found[:last]]
    return write(Translator.load(folder), paths, out, f"the last {last} saves of one run")


def check_alike(name: Path, one: Translator, other_name: Path, other: Translator) -> None:
    """Refuses runs whose parameters do not mean the same."""
    if difference := first_difference(told(one), told(other)):
        raise ConfigError(
            f"{other_name}: expected the model configuration and the tokenizers of {name}; the first "
            f"difference is {difference}"
        )


def told(run: Translator) -> dict[str, Any]:
    """Plain values, equal for runs whose parameters mean the same."""
    settings = run.experiment.model_dump()
    return {
        "model": settings["model"],
        "tokenizer": settings["tokenizer"],
        "source vocabulary": run.source_tokenizer.state(),
        "target vocabulary": run.target_tokenizer.state(),
    }


def write(translator: Translator, paths: Sequence[Path], out: Path, of: str) -> Translator:
    """Averages these parameters into the translator, and writes it as a run folder with a card."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out}: expected a new or empty folder for the average")
    (model,) = translator.model.members
    average(model, paths)
    named = translator.experiment.model_copy(update={"name": out.name})
    averaged = Translator(named, translator.source_tokenizer, translator.target_tokenizer, model)
    try:
        averaged.save(out)
        write_file(out / "README.md", card(averaged, paths, of).encode())
    except OSError as error:
        raise CheckpointError(f"{out}: cannot be written; {error.strerror}") from None
    return averaged


@torch.no_grad()
def average(model: Seq2Seq, paths: Sequence[Path]) -> None:
    """Sets every parameter to its mean over these files, summed in float64; tied ones stay tied.

    Raises CheckpointError for a file that does not fit the model.
    """
    sums: dict[str, torch.Tensor] = {}
    for path in paths:
        load_model(path, model)
        for name, tensor in state_once(model).items():
            sums[name] = sums.get(name, 0.0) + tensor.double()
    for name, tensor in state_once(model).items():
        tensor.copy_(sums[name] / len(paths))


def card(translator: Translator, paths: Sequence[Path], of: str) -> str:
    """What the folder's README says: of what it is the average."""
    listed = "".join(f"- `{path}`\n" for path in paths)
    parameters = sum(parameter.numel() for parameter in translator.model.parameters())
    name = translator.experiment.name
    return f"""# {name}

A sequence-to-sequence model with attention: the average of {of}, parameter by parameter, made with
transduce. {parameters:,} parameters; all settings are in `config.yaml`, those of the first.

Averaged:

{listed}
It has not been scored: `transduce evaluate {name}` does so. Use it: `transduce translate {name}`.
"""
