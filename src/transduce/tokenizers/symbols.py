"""What tokenizers with a vocabulary of symbols share, and the vocabulary that is made by counting."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from typing import Any, ClassVar

from transduce.errors import ConfigError
from transduce.tokenizers.base import Encoding, Tokenizer
from transduce.tokenizers.normal_form import NormalForm, normalised, places
from transduce.types import SPECIALS, UNK

UNKNOWN_TEXT = "<unk>"


class SymbolTokenizer(Tokenizer):
    """A tokenizer whose tokens are symbols, stretches of text that a vocabulary lists in the order of ids.

    Texts are brought into `normal_form` first, at training and at translation alike. Joined by `joiner`, a
    text's symbols are its normal form again. An id is a symbol's place in the list, so that no text, however
    special it looks, has a special id.
    """

    joiner = ""

    def __init__(self, normal_form: NormalForm) -> None:
        self.normal_form: NormalForm = normal_form
        self.symbols: list[str] = []
        self.index: dict[str, int] = {}

    @abstractmethod
    def split(self, text: str) -> list[tuple[str, int]]:
        """The symbols of a text in `normal_form`, in order, and where each starts."""

    @property
    def vocab_size(self) -> int:
        return len(self.symbols) + SPECIALS

    def normalise(self, text: str) -> str:
        return self.joiner.join(symbol for symbol, _ in self.split(normalised(text, self.normal_form)))

    def encode(self, text: str) -> Encoding:
        normal = normalised(text, self.normal_form)
        symbols = self.split(normal)
        ids = [self.index.get(symbol, UNK) for symbol, _ in symbols]
        offsets = [(start, start + len(symbol)) for symbol, start in symbols]
        if normal != text:
            starts, ends = places(text, self.normal_form)
            offsets = [(starts[start], ends[end - 1]) for start, end in offsets]
        return Encoding(ids, offsets)

    def decode(self, ids: Iterable[int]) -> str:
        return self.joiner.join(self.token(index) for index in ids)

    def token(self, index: int) -> str:
        return self.symbols[index - SPECIALS] if index >= SPECIALS else UNKNOWN_TEXT

    def set_symbols(self, symbols: Iterable[str]) -> None:
        """Lists the vocabulary. Raises ValueError where it cannot be one."""
        self.symbols = list(symbols)
        self.index = {symbol: index for index, symbol in enumerate(self.symbols, SPECIALS)}
        if len(self.index) < len(self.symbols) or not all(isinstance(symbol, str) for symbol in self.symbols):
            raise ValueError("expected symbols that are text, each once")


class CountedTokenizer(SymbolTokenizer):
    """A tokenizer that knows the symbols it has seen often enough, in first-seen order."""

    extensible: ClassVar[bool] = True

    def __init__(self, min_count: int, max_size: int | None, normal_form: NormalForm) -> None:
        super().__init__(normal_form)
        if min_count < 1 or (max_size is not None and max_size < 1):
            raise ConfigError(f"min_count, max_size: expected at least 1; got {min_count}, {max_size}")
        self.min_count, self.max_size = min_count, max_size

    @property
    def complete(self) -> bool:
        return self.min_count == 1 and self.max_size is None

    def fit(self, texts: Iterable[str]) -> None:
        self.set_symbols([])
        self.extend(texts)

    def extend(self, texts: Iterable[str]) -> None:
        """New symbols are those that these texts hold `min_count` times, as far as `max_size` has room."""
        normal = (normalised(text, self.normal_form) for text in texts)
        counts = Counter(symbol for text in normal for symbol, _ in self.split(text))
        kept = [s for s, count in counts.items() if count >= self.min_count and s not in self.index]
        if self.max_size is not None:  # the most frequent; a stable sort lets the first-seen win ties
            room = max(0, self.max_size - len(self.symbols))
            chosen = set(sorted(kept, key=lambda symbol: -counts[symbol])[:room])
            kept = [symbol for symbol in kept if symbol in chosen]
        self.set_symbols([*self.symbols, *kept])

    def state(self) -> dict[str, Any]:
        return {"symbols": self.symbols}

    def load_state(self, state: dict[str, Any]) -> None:
        self.set_symbols(state["symbols"])
