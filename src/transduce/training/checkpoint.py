"""Saves that survive any interruption: whole folders and files, written aside and renamed."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from transduce.errors import CheckpointError
from transduce.files import TEMPORARY, sync_folder, write_file
from transduce.training.averaging import MovingAverage
from transduce.training.distributed import ALONE, Team
from transduce.training.optimizer_state import flatten, unflatten
from transduce.training.state import TrainState

AVERAGE = "average.safetensors"
FORMAT = 1


def save_model(path: Path, model: nn.Module) -> None:
    """Writes the parameters as one safetensors file."""
    write_file(path, save_tensors(detached(state_once(model))))


def load_model(path: Path, model: nn.Module) -> None:
    """Reads the parameters of exactly this model. Raises CheckpointError naming the file."""
    tensors = read_tensors(path)
    fitting = {name: tensor.shape for name, tensor in state_once(model).items()}
    found = {name: tensor.shape for name, tensor in tensors.items()}
    if found != fitting:
        wrong = sorted(name for name in fitting | found if fitting.get(name) != found.get(name))
        raise CheckpointError(
            f"{path}: does not fit its configuration; {len(wrong)} tensors differ, first {wrong[0]!r}: "
            f"expected {fitting.get(wrong[0])}, got {found.get(wrong[0])}"
        )
    model.load_state_dict(tensors, strict=False)  # the names left out are tied to some that are not


def state_once(model: nn.Module) -> dict[str, Tensor]:
    """The state of a model, each tensor by its first name: tied ones are saved once, and stay tied."""
    first: dict[int, str] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        first.setdefault(id(tensor), name)
    state = model.state_dict()
    return {name: state[name] for name in first.values()}


def read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_tensors(path.read_bytes())
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read; {error.strerror}") from None
    except SafetensorError as error:
        raise CheckpointError(
            f"{path}: refused: unsafe content or damaged file; expected safetensors ({error})"
        ) from None


def detached(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}


class Training(NamedTuple):
    """All that a save holds beside the state: what training changes, of every process."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    average: MovingAverage | None = None
    team: Team = ALONE


def save_state(folder: Path, training: Training, state: TrainState, kept: int = 2) -> None:
    """Writes `folder/<update>/`, from which training resumes bit for bit on the CPU; keeps the newest few.

    Every process of a team must call it, for its random numbers; the leader writes.
    """
    randomness = training.team.gather(random_states(training.model))
    if not training.team.leads:
        return
    folder.mkdir(exist_ok=True)
    temporary, final = folder / f"{TEMPORARY}{state.update}", folder / str(state.update)
    for stale in (temporary, final):
        shutil.rmtree(stale, ignore_errors=True)
    try:
        write_save(temporary, training, state, randomness)
        os.replace(temporary, final)
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)  # what is half written would keep a full disk full
        raise
    sync_folder(folder)
    newest = [path for path in saves(folder) if int(path.name) <= state.update][:kept]
    for old in set(saves(folder)) - set(
        newest
    ):  # later ones could not be read, or belong to a run begun anew
        shutil.rmtree(old)


def write_save(
    folder: Path, training: Training, state: TrainState, randomness: list[dict[str, Tensor]]
) -> None:
    """Writes the files of one save, with the random states of every process, into a new folder."""
    folder.mkdir()
    tensors, rest = flatten(training.optimizer.state_dict())
    tensors = detached(tensors) | {
        name: torch.stack([own[name] for own in randomness]) for name in randomness[0]
    }
    tree = {"format": FORMAT, "state": state.plain(), "optimizer": rest}
    save_model(folder / "model.safetensors", training.model)
    if training.average:
        write_file(folder / AVERAGE, save_tensors(detached(training.average.values)))
    write_file(folder / "optimizer.safetensors", save_tensors(tensors))
    write_file(folder / "state.json", json.dumps(tree).encode())


def random_states(model: nn.Module) -> dict[str, Tensor]:
    """Where this process's random numbers stand, on the CPU and on a card that it uses."""
    states = {"rng": torch.get_rng_state()}
    if next(model.parameters()).is_cuda:
        states["rng.cuda"] = torch.cuda.get_rng_state()
    return states


def set_random_states(
    tensors: dict[str, Tensor], training: Training, update: int, warn: Callable[[str], None]
) -> None:
    """Takes this process's own random states out of what was saved; one that has none begins anew."""
    rank, states = training.team.rank, {name: tensors.pop(name, None) for name in ("rng", "rng.cuda")}
    own = {
        name: None if of_all is None else of_all.view(-1, of_all.shape[-1]) for name, of_all in states.items()
    }
    own = {name: of_all[rank] for name, of_all in own.items() if of_all is not None and rank < len(of_all)}
    if "rng" in own:
        torch.set_rng_state(own["rng"])
    else:
        torch.manual_seed(update * training.team.size + rank)
        warn("the save is of fewer processes: random numbers begin anew in this one")
    if next(training.model.parameters()).is_cuda:
        if "rng.cuda" in own:
            torch.cuda.set_rng_state(own["rng.cuda"])
        else:
            warn("the save is from another kind of device: random numbers on this one begin anew")


def saves(folder: Path) -> list[Path]:
    """The finished saves, newest first."""
    found = [path for path in folder.glob("*") if path.name.isdecimal()] if folder.is_dir() else []
    return sorted(found, key=lambda path: int(path.name), reverse=True)


def resume(folder: Path, training: Training, warn: Callable[[str], None]) -> TrainState | None:
    """Restores the newest save that can be read, and cleans up leftovers; None where there is no save."""
    for leftover in folder.glob(f"{TEMPORARY}*") if training.team.leads else ():
        shutil.rmtree(leftover)
    found = saves(folder)
    for path in found:
        try:
            return load_state(path, training, warn)
        except CheckpointError as error:
            warn(f"{error}; trying the save before it")
    if found:
        raise CheckpointError(f"{folder}: no save can be read; start again with --overwrite")
    return None


def load_state(path: Path, training: Training, warn: Callable[[str], None]) -> TrainState:
    """Restores one save. Raises CheckpointError where it does not fit, and may then be restored in part."""
    state, rest = read_state(path / "state.json")
    tensors = read_tensors(path / "optimizer.safetensors")
    load_model(path / "model.safetensors", training.model)
    if training.average:
        load_average(path / AVERAGE, training.average)
    try:
        set_random_states(tensors, training, state.update, warn)
        training.optimizer.load_state_dict(unflatten(tensors, rest, training.optimizer))
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError) as error:
        raise CheckpointError(f"{path / 'optimizer.safetensors'}: cannot be used; {error!r}") from None
    return state


def read_state(path: Path) -> tuple[TrainState, dict[str, Any]]:
    """Where training stood, and the plain values of its optimizer."""
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        if tree["format"] != FORMAT:
            raise ValueError(f"expected format {FORMAT}, got {tree['format']!r}")
        return TrainState.of(tree["state"]), dict(tree["optimizer"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: cannot be used; {error!r}") from None


def load_average(path: Path, average: MovingAverage) -> None:
    tensors = read_tensors(path)
    if {name: t.shape for name, t in tensors.items()} != {
        name: t.shape for name, t in average.values.items()
    }:
        raise CheckpointError(f"{path}: does not fit the model; expected its parameters, one average each")
    average.load(tensors)
