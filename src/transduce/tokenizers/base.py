"""The tokenizer contract, and the vocabulary that symbol tokenizers share."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Self

from transduce.config import Component, Spec, options_model, validate
from transduce.errors import CheckpointError, ConfigError
from transduce.files import write_file
from transduce.types import SPECIALS, UNK

UNKNOWN_TEXT = "<unk>"


class Encoding(NamedTuple):
    """Ids of a text without specials, and each token's (start, end) in code points of that text."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class Tokenizer(Component, ABC):
    """Text to ids and back: decode(encode(x)) == normalise(x), but for tokens never seen."""

    @property
    @abstractmethod
    def vocab_size(self) -> int:
        """Number of ids, the four specials included."""

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


class SymbolTokenizer(Tokenizer):
    """A tokenizer whose tokens are whole symbols listed in a vocabulary, in first-seen order.

    `split` must tile the normalised text: symbols in order, joined by `joiner`.
    """

    joiner = ""

    def __init__(self, min_count: int, max_size: int | None) -> None:
        if min_count < 1 or (max_size is not None and max_size < 1):
            raise ConfigError(f"min_count, max_size: expected at least 1; got {min_count}, {max_size}")
        self.min_count, self.max_size = min_count, max_size
        self.symbols: list[str] = []
        self.index: dict[str, int] = {}

    @abstractmethod
    def split(self, text: str) -> list[tuple[str, int]]:
        """The symbols of `text` and where each starts."""

    @property
    def vocab_size(self) -> int:
        return len(self.symbols) + SPECIALS

    def fit(self, texts: Iterable[str]) -> None:
        counts = Counter(symbol for text in texts for symbol, _ in self.split(text))
        kept = [symbol for symbol, count in counts.items() if count >= self.min_count]
        if self.max_size is not None:  # the most frequent; a stable sort lets the first-seen win ties
            chosen = set(sorted(kept, key=lambda symbol: -counts[symbol])[: self.max_size])
            kept = [symbol for symbol in kept if symbol in chosen]
        self.load_state({"symbols": kept})

    def encode(self, text: str) -> Encoding:
        symbols = self.split(text)
        ids = [self.index.get(symbol, UNK) for symbol, _ in symbols]
        return Encoding(ids, [(start, start + len(symbol)) for symbol, start in symbols])

    def decode(self, ids: Iterable[int]) -> str:
        return self.joiner.join(self.token(index) for index in ids)

    def token(self, index: int) -> str:
        return self.symbols[index - SPECIALS] if index >= SPECIALS else UNKNOWN_TEXT

    def state(self) -> dict[str, Any]:
        return {"symbols": self.symbols}

    def load_state(self, state: dict[str, Any]) -> None:
        self.symbols = list(state["symbols"])
        self.index = {symbol: index for index, symbol in enumerate(self.symbols, SPECIALS)}
        if len(self.index) < len(self.symbols) or not all(isinstance(symbol, str) for symbol in self.symbols):
            raise ValueError("expected symbols that are text, each once")
