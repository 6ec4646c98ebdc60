"""An optimizer's state as named tensors and plain values, and back, if they fit the optimizer."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

Entries = dict[int, dict[str, Any]]  # of each parameter, by its number


def flatten(state: dict[str, Any]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Parts an optimizer's state into named tensors and plain values, which list the tensors."""
    tensors, plain = {}, {}
    for parameter, entries in state["state"].items():
        for key, value in entries.items():
            place = tensors if isinstance(value, Tensor) else plain
            place[f"{parameter}.{key}"] = value
    return tensors, {"groups": state["param_groups"], "plain": plain, "tensors": sorted(tensors)}


def unflatten(
    tensors: Mapping[str, Tensor], rest: Mapping[str, Any], optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """What `flatten` was given. Raises ValueError, KeyError or TypeError where it does not fit the optimizer.

    A fused step would read past the end of moments that are too small.
    """
    found, listed = sorted(tensors), rest.get("tensors")  # older saves do not list them
    if listed is not None and found != listed:
        raise ValueError(f"expected the tensors {listed}, got {found}")
    entries: Entries = {}
    for name, value in {**tensors, **rest["plain"]}.items():
        parameter, key = name.split(".", 1)
        entries.setdefault(int(parameter), {})[key] = value
    check_entries(entries, optimizer)
    check_groups(rest["groups"], optimizer.state_dict()["param_groups"])
    return {"state": entries, "param_groups": rest["groups"]}


def check_entries(entries: Entries, optimizer: torch.optim.Optimizer) -> None:
    """All parameters must have the same entries: counts of steps, or tensors of the parameter's shape."""
    kinds = sorted({tuple(sorted(entry)) for entry in entries.values()})
    if len(kinds) > 1:
        raise ValueError(f"expected the same entries for every parameter, got {kinds}")
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if unknown := entries.keys() - set(range(len(parameters))):
        raise ValueError(f"expected entries of {len(parameters)} parameters, got one of {min(unknown)}")
    for number, entry in entries.items():
        for key, value in entry.items():
            expected = () if key == "step" else parameters[number].shape
            if (got := torch.as_tensor(value).shape) != expected:
                raise ValueError(f"{number}.{key}: expected the shape {list(expected)}, got {list(got)}")


def check_groups(groups: Any, own: list[dict[str, Any]]) -> None:
    """Each group must be of the same parameters, with the optimizer's options, of the same kinds."""
    if len(groups) != len(own):
        raise ValueError(f"expected {len(own)} groups of parameters, got {len(groups)}")
    for expected, got in zip(own, groups, strict=True):
        if expected["params"] != got["params"]:
            raise ValueError(f"expected a group of {len(expected['params'])} parameters, got others")
        wrong = [key for key in expected | got if kind(expected.get(key)) != kind(got.get(key))]
        if wrong:
            first = min(wrong)
            raise ValueError(f"{first}: expected one like {expected.get(first)}, got {got.get(first)!r}")


def kind(value: Any) -> type:
    """The type of an option, but for what JSON or a schedule may make another."""
    if isinstance(value, tuple):
        return list
    return float if type(value) is int else type(value)
