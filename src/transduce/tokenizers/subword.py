"""What the subword tokenizers share: words, an alphabet, and a vocabulary of a given size."""

import functools
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from random import Random
from typing import Any, Literal

import regex

from transduce.errors import ConfigError
from transduce.tokenizers.normal_form import NormalForm, normalised
from transduce.tokenizers.symbols import SymbolTokenizer
from transduce.types import SPECIALS, UNK

Drawing = Callable[[Sequence[str], Random], list[list[str]]]  # pieces of each of some words, drawn
Border = Literal["punctuation", "space"]
SPACES = r" +(?= [^ ])| +"  # all of a run but the last space, which begins a word
WORDS: Mapping[Border, regex.Pattern[str]] = {
    "punctuation": regex.compile(
        r" ?(?:\p{L}[\p{L}\p{M}\p{Cf}]*|\p{N}[\p{N}\p{M}\p{Cf}]*|[^ \p{L}\p{N}]+)|" + SPACES
    ),
    "space": regex.compile(r" ?[^ ]+|" + SPACES),
}
CACHED = 100_000  # words whose pieces are remembered


class SubwordTokenizer(SymbolTokenizer):
    """Tokens are pieces of words, learnt from data. Joined, they are the text again, spaces and all.

    A word takes along the one space before it, so nothing is escaped and no mark is added: the piece " the"
    begins a word, "the" stands at the start of a text or within a word, and any further spaces of a run are
    pieces of their own. No piece crosses the border of a word; `border: punctuation` also ends words between
    letters, digits and everything else (marks and joiners stay with the letter before them).

    The alphabet, every character seen `min_count` times, is always in the vocabulary, so that any text of
    known characters survives; each character outside it is one unknown token. `vocab_size` counts every id,
    the four specials too. Little data gives fewer, and where not even the alphabet fits, the rarest
    characters are left out.
    """

    def __init__(self, vocab_size: int, min_count: int, border: Border, normal_form: NormalForm) -> None:
        super().__init__(normal_form)
        if vocab_size <= SPECIALS or min_count < 1:
            raise ConfigError(
                f"vocab_size, min_count: expected more than the {SPECIALS} special ids, and at least 1; "
                f"got {vocab_size}, {min_count}"
            )
        self.room, self.min_count = vocab_size - SPECIALS, min_count
        self.border: Border = border
        self.alphabet: set[str] = set()
        self.remembered: dict[str, list[str]] = {}

    @property
    def complete(self) -> bool:
        return self.min_count == 1 and len(self.alphabet) < self.room

    @abstractmethod
    def learn(self, words: Mapping[str, int], alphabet: list[str]) -> dict[str, Any]:
        """The state learnt from how often each word was seen; words hold characters of `alphabet` only."""

    @abstractmethod
    def segment(self, word: str) -> list[str]:
        """The best pieces of a word of known characters."""

    def fit(self, texts: Iterable[str]) -> None:
        split, form = WORDS[self.border].findall, self.normal_form
        seen = Counter(word for text in texts for word in split(normalised(text, form)))
        counts = count_characters(seen)
        kept = [character for character, count in counts.items() if count >= self.min_count]
        kept = sorted(kept, key=lambda character: (-counts[character], character))[: self.room]
        self.alphabet = set(kept)
        words = Counter[str]()
        for word, count in seen.items():
            for known, part in self._parts(word):
                if known:
                    words[part] += count
        self.load_state(self.learn(words, sorted(kept)))

    def split(self, text: str) -> list[tuple[str, int]]:
        symbols, start, remembered = [], 0, self.remembered
        for word in WORDS[self.border].findall(text):
            for piece in remembered.get(word) or self.pieces(word):
                symbols.append((piece, start))
                start += len(piece)
        return symbols

    def set_pieces(self, pieces: Iterable[str]) -> None:
        """Lists the vocabulary, with the alphabet in it. Raises ValueError where it cannot be one."""
        self.set_symbols(pieces)
        if "" in self.index:
            raise ValueError("expected pieces of at least one character")
        self.alphabet = {piece for piece in self.symbols if len(piece) == 1}
        if strange := {character for piece in self.symbols for character in piece} - self.alphabet:
            raise ValueError(f"expected every character to be a piece; got no {min(strange)!r}")
        self.remembered = {}

    def extend(self, texts: Iterable[str]) -> None:
        raise ConfigError(f"tokenizer {self.name!r}: its pieces are learnt together and cannot be extended")

    def draw_by(self, drawing: Drawing) -> None:
        """Samples texts from now on, by what draws the pieces of their words."""
        self.sampler = functools.partial(self._draw, drawing)

    def _draw(self, drawing: Drawing, text: str, random: Random) -> list[int]:
        words = WORDS[self.border].findall(normalised(text, self.normal_form))
        parts = [part for word in words for part in self._parts(word)]
        drawn = iter(drawing([part for known, part in parts if known], random))
        pieces = (piece for known, part in parts for piece in (next(drawn) if known else part))
        return [self.index.get(piece, UNK) for piece in pieces]

    def pieces(self, word: str) -> list[str]:
        """The pieces of a word, its unknown characters as they are; remembered, so leave the list alone."""
        if (found := self.remembered.get(word)) is not None:
            return found
        pieces = []
        for known, part in self._parts(word):
            pieces += self.segment(part) if known else part
        if len(self.remembered) >= CACHED:
            self.remembered = {}
        self.remembered[word] = pieces
        return pieces

    def _parts(self, word: str) -> list[tuple[bool, str]]:
        """Cuts a word where known characters meet unknown ones."""
        if self.alphabet.issuperset(word):
            return [(True, word)]
        return [(known, "".join(part)) for known, part in groupby(word, self.alphabet.__contains__)]


def count_characters(words: Mapping[str, int]) -> Counter[str]:
    """How often each character was seen, from how often each word was."""
    counts = Counter[str]()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    return counts
