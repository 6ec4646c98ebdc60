"""Checks of options that several components share."""

from transduce.errors import ConfigError


def check_sizes(where: str, **sizes: int | None) -> None:
    """Refuses sizes below 1; None stands for a default made of the others."""
    for name, size in sizes.items():
        if size is not None and size < 1:
            raise ConfigError(f"{where}.{name}: expected at least 1; got {size}")


def check_dropout(where: str, **rates: float) -> None:
    """Refuses what is not a probability, and 1, with which nothing would be left."""
    for name, rate in rates.items():
        if not 0.0 <= rate < 1.0:  # also refuses NaN
            raise ConfigError(f"{where}.{name}: expected at least 0 and below 1; got {rate}")
