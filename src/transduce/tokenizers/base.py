"""The tokenizer contract, and how a fitted tokenizer is saved and loaded."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Self

from transduce.config import Component, Spec, options_model, validate
from transduce.errors import CheckpointError
from transduce.files import write_file


class Encoding(NamedTuple):
    """Ids of a text without specials, and each token's (start, end) in code points of that text.

    Offsets are places in the text as it was given, before any normal form: in order, never empty, and with
    nothing left out between them but the spaces that a tokenizer drops. Two tokens share a stretch only
    where a normal form made both out of it.
    """

    ids: list[int]
    offsets: list[tuple[int, int]]


class Tokenizer(Component, ABC):
    """Text to ids and back: decode(encode(x)) == normalise(x), but for tokens never seen."""

    @property
    @abstractmethod
    def vocab_size(self) -> int:
        """Number of ids, the four specials included."""

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether every token of the training texts has an id, so that none of them was read as unknown."""

    @abstractmethod
    def fit(self, texts: Iterable[str]) -> None:
        """Learns the vocabulary; the same texts give the same ids in every process."""

    @abstractmethod
    def normalise(self, text: str) -> str:
        """The form of `text` that decoding can give back."""

    @abstractmethod
    def encode(self, text: str) -> Encoding: ...

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str: ...

    @abstractmethod
    def token(self, index: int) -> str:
        """The text that one id stands for."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Plain values from which `load_state` restores the fitted tokenizer."""

    @abstractmethod
    def load_state(self, state: dict[str, Any]) -> None: ...

    def save(self, path: Path, spec: Spec[Self]) -> None:
        """Writes options and vocabulary as one JSON file."""
        tree = {"format": 1, "tokenizer": spec.plain(), "state": self.state()}
        write_file(path, (json.dumps(tree, ensure_ascii=False, indent=0) + "\n").encode())


def load_tokenizer(path: Path) -> Tokenizer:
    """Reads what `Tokenizer.save` wrote."""
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        if tree["format"] != 1:
            raise ValueError(f"got format {tree['format']!r}")
        spec = tree["tokenizer"]
        kind = Tokenizer.family[spec.pop("name")]
        options = validate(options_model(kind), spec, str(path))
        tokenizer = kind(**{key: getattr(options, key) for key in type(options).model_fields})
        tokenizer.load_state(tree["state"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}: expected a tokenizer file of format 1; {error!r}") from None
    return tokenizer
