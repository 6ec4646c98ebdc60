"""The errors a user can mend. Each says where, what was expected, what was found, and a hint."""

import difflib
from collections.abc import Iterable


class TransduceError(ValueError):
    """Base of all errors that a user, not a programmer, can mend."""


class ConfigError(TransduceError):
    """A configuration, option or combination of options that cannot work."""


class DataError(TransduceError):
    """Data that cannot be read or used; the message carries `file:line`."""


class CheckpointError(TransduceError):
    """A run folder or one of its files that is missing, damaged or unsafe."""


class TrainingError(RuntimeError):
    """Training went wrong in a way that going on cannot mend."""


class ModelError(ValueError):
    """A model whose numbers cannot be used, such as one that gives NaN."""


class Interrupted(Exception):
    """Work was stopped by a signal, with everything saved."""

    def __init__(self, signal: int, message: str) -> None:
        super().__init__(message)
        self.signal = signal


def missing_extra(package: str, extra: str, purpose: str) -> ConfigError:
    """The error for an optional dependency that is not installed, with the line that installs it."""
    return ConfigError(f"{purpose} needs the package {package!r}: pip install 'transduce[{extra}]'")


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    """Says that `name` is not one of `known`, and which of them it was probably meant to be."""
    known = list(known)
    close = difflib.get_close_matches(str(name), known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
    return f"unknown {what} {str(name)!r}; {hint}"
