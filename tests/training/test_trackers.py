"""Logs beside the log: each tracker hands on what it is given to the package it stands for."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from transduce.config import Spec
from transduce.errors import ConfigError
from transduce.training.trackers import Tracker

CONFIG = {"seed": 1}


class Recorder(ModuleType):
    """Stands for a package: notes every call by name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        for function in ("log", "finish", "start_run", "log_dict", "log_metrics", "end_run"):
            setattr(self, function, self._noting(function))
        self.init = self._init

    def _noting(self, function: str) -> Any:
        return lambda *arguments, **options: self.calls.append((function, arguments, options))

    def _init(self, **options: Any) -> "Recorder":
        self.calls.append(("init", (), options))
        return self


def build(name: str, tmp_path: Any) -> Tracker:
    return Spec(Tracker, name).build(tmp_path, "run", CONFIG)


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("wandb", ["init", "log", "log", "finish"]),
        ("trackio", ["init", "log", "log", "finish"]),
        ("mlflow", ["start_run", "log_dict", "log_metrics", "log_metrics", "end_run"]),
    ],
)
def test_numbers_reach_the_package_with_their_update(name, calls, tmp_path, monkeypatch):
    package = Recorder(name)
    monkeypatch.setitem(sys.modules, name, package)
    tracker = build(name, tmp_path)
    tracker.log(3, {"train/loss": 0.5})
    tracker.log(5, {"dev/bleu": 20.0})
    tracker.close()
    assert [call[0] for call in package.calls] == calls
    logged = [call for call in package.calls if call[0] in ("log", "log_metrics")]
    assert [(arguments[0], options["step"]) for _, arguments, options in logged] == [
        ({"train/loss": 0.5}, 3),
        ({"dev/bleu": 20.0}, 5),
    ]
    assert any(CONFIG in (*arguments, *options.values()) for _, arguments, options in package.calls)


def test_tensorboard_gets_scalars_in_the_run_folder(tmp_path, monkeypatch):
    written: list[Any] = []

    class Writer:
        def __init__(self, folder: str) -> None:
            written.append(folder)

        def add_scalar(self, *scalar: Any) -> None:
            written.append(scalar)

        def close(self) -> None:
            written.append("closed")

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Writer))
    tracker = build("tensorboard", tmp_path)
    tracker.log(3, {"train/loss": 0.5, "train/lr": 0.1})
    tracker.close()
    assert written == [str(tmp_path / "tensorboard"), ("train/loss", 0.5, 3), ("train/lr", 0.1, 3), "closed"]


@pytest.mark.parametrize(
    ("name", "module", "line"),
    [
        ("tensorboard", "torch.utils.tensorboard", "pip install 'transduce[tb]'"),
        ("wandb", "wandb", "pip install wandb"),
        ("mlflow", "mlflow", "pip install mlflow"),
        ("trackio", "trackio", "pip install trackio"),
    ],
)
def test_a_package_that_is_missing_is_named_with_the_line_that_installs_it(
    name, module, line, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match="needs the package") as caught:
        build(name, tmp_path)
    assert line in str(caught.value)
