"""The two functions of `import transduce`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transduce.experiment import load_experiment
from transduce.run import train_run
from transduce.translator import Translator
from transduce.translator import load as load


def train(
    config: str | Path | Mapping[str, Any],
    *overrides: str,
    run: str | Path | None = None,
    overwrite: bool = False,
    device: str = "auto",
) -> Translator:
    """Trains from a YAML file, a recipe's name or a mapping of settings; the best model is returned.

    `overrides` are `key.path=value`. Everything is kept in the folder `run` (default: runs/<name>),
    where the same call goes on if it was stopped.
    """
    experiment = load_experiment(config if isinstance(config, Mapping) else str(config), overrides)
    folder = Path("runs") / experiment.name if run is None else run
    return train_run(experiment, folder, overwrite=overwrite, device=device)
