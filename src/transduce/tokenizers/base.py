"""The tokenizer contract, and how a fitted tokenizer is saved and loaded."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple, Self

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
    """Text to ids and back: decode(encode(x)) == normalise(x), but for tokens never seen.

    `sampler`, where an option asks for it, draws the ids of a text anew each time that it is trained on;
    they decode to the same text. `extensible` says whether a fitted vocabulary can grow, and `training_only`
    names the options that change no id that `encode` gives.
    """

    extensible: ClassVar[bool] = False
    training_only: ClassVar[tuple[str, ...]] = ()
    sampler: Callable[[str, Random], list[int]] | None = None

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
    def extend(self, texts: Iterable[str]) -> None:
        """Gives new ids, after all others, to what these texts hold beside it.

        Raises ConfigError for a vocabulary that was learnt as a whole.
        """

    @abstractmethod
    def normalise(self, text: str) -> str:
        """The form of `text` that decoding can give back."""

    @abstractmethod
    def encode(self, text: str) -> Encoding: ...

    def sample(self, text: str, random: Random) -> list[int]:
        """The ids that a text is trained on: drawn anew by a `sampler`, else those of `encode`."""
        return self.encode(text).ids if self.sampler is None else self.sampler(text, random)

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
