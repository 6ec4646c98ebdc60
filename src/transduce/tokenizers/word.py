"""White-space words."""

import regex

from transduce.tokenizers.normal_form import NormalForm
from transduce.tokenizers.symbols import CountedTokenizer

WORD = regex.compile(r"[^ ]+")


class WordTokenizer(CountedTokenizer, name="word"):
    """One token per word; only U+0020 separates words, so no-break spaces and joiners stay inside.

    Runs of spaces count as one and edge spaces as none: `normalise` says what survives.
    """

    joiner = " "

    def __init__(
        self, *, min_count: int = 1, max_size: int | None = None, normal_form: NormalForm = "none"
    ) -> None:
        super().__init__(min_count, max_size, normal_form)

    def split(self, text: str) -> list[tuple[str, int]]:
        return [(match[0], match.start()) for match in WORD.finditer(text)]
