"""Sequence-to-sequence models with attention, trained on your own pairs, that you can look inside."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transduce.api import load, train
    from transduce.translation import Translation
    from transduce.translator import Translator

_HOMES = {"load": "api", "train": "api", "Translation": "translation", "Translator": "translator"}

__all__ = ["Translation", "Translator", "load", "train"]


def __getattr__(name: str) -> Any:
    """Resolves the public names on first use: importing the package stays instant."""
    if name not in _HOMES:
        raise AttributeError(f"module 'transduce' has no attribute {name!r}")
    return getattr(importlib.import_module(f"transduce.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
