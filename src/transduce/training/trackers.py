"""Where else a run is logged: `metrics.jsonl` is always written, these beside it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from transduce.config import Component
from transduce.errors import ConfigError, missing_extra

Values = Mapping[str, float]


class Tracker(Component, ABC):
    """Gets the numbers of a run as they come, with the whole configuration at its start."""

    @abstractmethod
    def log(self, update: int, values: Values) -> None:
        """Takes numbers by name, such as "train/loss" and "dev/exact_match"."""

    @abstractmethod
    def close(self) -> None:
        """Ends this sitting of the run."""


class TensorBoard(Tracker, name="tensorboard"):
    """Event files in the run folder's `tensorboard/` (extra `tb`)."""

    def __init__(self, folder: Path, name: str, config: Mapping[str, Any]) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise missing_extra("tensorboard", "tb", "train.track: tensorboard") from None
        self.writer = SummaryWriter(str(folder / "tensorboard"))

    def log(self, update: int, values: Values) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, update)

    def close(self) -> None:
        self.writer.close()


class WeightsAndBiases(Tracker, name="wandb"):
    """Weights & Biases, which must be installed and signed in to."""

    def __init__(self, folder: Path, name: str, config: Mapping[str, Any]) -> None:
        self.run = installed("wandb").init(
            project="transduce", name=name, dir=str(folder), config=dict(config)
        )

    def log(self, update: int, values: Values) -> None:
        self.run.log(dict(values), step=update)

    def close(self) -> None:
        self.run.finish()


class Trackio(Tracker, name="trackio"):
    """trackio, which keeps its data on this machine; it must be installed."""

    def __init__(self, folder: Path, name: str, config: Mapping[str, Any]) -> None:
        self.package = installed("trackio")
        self.package.init(project="transduce", name=name, config=dict(config))

    def log(self, update: int, values: Values) -> None:
        self.package.log(dict(values), step=update)

    def close(self) -> None:
        self.package.finish()


class MLflow(Tracker, name="mlflow"):
    """MLflow, where its own settings say; it must be installed."""

    def __init__(self, folder: Path, name: str, config: Mapping[str, Any]) -> None:
        self.package = installed("mlflow")
        self.package.start_run(run_name=name)
        self.package.log_dict(dict(config), "config.json")

    def log(self, update: int, values: Values) -> None:
        self.package.log_metrics(
            {key.replace("@", "_at_"): value for key, value in values.items()}, step=update
        )

    def close(self) -> None:
        self.package.end_run()


def installed(package: str) -> ModuleType:
    """A package that is no dependency of any kind. Raises ConfigError with the line that installs it."""
    try:
        return import_module(package)
    except ImportError:
        raise ConfigError(
            f"train.track: {package} needs the package {package!r}: pip install {package}"
        ) from None
