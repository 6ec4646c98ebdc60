"""Characters: extended grapheme clusters, or code points."""

from typing import Literal

import regex

from transduce.tokenizers.normal_form import NormalForm
from transduce.tokenizers.symbols import CountedTokenizer

CLUSTER = regex.compile(r"\X")


class CharTokenizer(CountedTokenizer, name="char"):
    """One token per character; a space is a symbol like any other, so every text survives.

    `unit: grapheme` keeps what a reader sees as one letter together (Unicode UAX #29: క + ి is one
    token); `unit: code_point` splits everything.
    """

    def __init__(
        self,
        *,
        unit: Literal["grapheme", "code_point"] = "grapheme",
        min_count: int = 1,
        max_size: int | None = None,
        normal_form: NormalForm = "none",
    ) -> None:
        super().__init__(min_count, max_size, normal_form)
        self.unit = unit

    def split(self, text: str) -> list[tuple[str, int]]:
        if self.unit == "code_point" or (text.isascii() and "\r" not in text):  # only CR LF clusters
            return [(character, start) for start, character in enumerate(text)]
        return [(match[0], match.start()) for match in CLUSTER.finditer(text)]
