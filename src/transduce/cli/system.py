"""The options that say what system translates: `--with`, `--mean`, `--weights`, `--int8`, `--device`."""

from collections.abc import Sequence
from typing import Any

from transduce.errors import ConfigError

MEAN = "probabilities"


def check_ensemble(others: Sequence[str] | None, mean: str | None, weights: str | None) -> None:
    """Refuses what says how to put runs together, where there is one."""
    for flag, value in {"--mean": mean, "--weights": weights}.items():
        if value is not None and not others:
            raise ConfigError(f"{flag} needs --with: expected both, got {flag} alone")


def check_int8(int8: bool, device: str) -> None:
    """Refuses integers where there are none."""
    if int8 and device not in ("auto", "cpu"):
        raise ConfigError(f"--int8 runs on the CPU: expected --device cpu or none; got --device {device}")


def place(int8: bool, device: str) -> str:
    """The device to load a model on."""
    return "cpu" if int8 else device


def load_runs(
    run: str, others: Sequence[str] | None, mean: str | None, weights: str | None, device: str = "auto"
) -> Any:
    """The translator of one run, or of several together; one of a team under torchrun."""
    from transduce.devices import choose_device
    from transduce.training.distributed import join
    from transduce.translator import load

    shares = None if weights is None else parse_weights(weights)
    translator = load(run, *(others or ()), mean=mean or MEAN, weights=shares, device=device)
    translator.team = join(choose_device(device).type)
    return translator


def parse_weights(text: str) -> list[float]:
    """The numbers of `--weights 0.7,0.3`. Raises ConfigError for anything else."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(
            f"--weights: expected a number for each run, parted by commas, such as 0.7,0.3; got {text!r}"
        ) from None
