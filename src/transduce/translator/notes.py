"""What a user should hear about after a translation."""

import dataclasses
from collections.abc import Iterable, Iterator

from transduce.tokenizers import Encoding
from transduce.types import UNK

SHOWN = 5  # unseen tokens


@dataclasses.dataclass
class Notes:
    """What a user should hear about after a translation."""

    unseen: int = 0
    examples: dict[str, None] = dataclasses.field(default_factory=dict)  # the first unseen tokens
    unfinished: int = 0

    def note_unseen(self, texts: Iterable[str], encodings: Iterable[Encoding]) -> None:
        """Counts the tokens of these texts that were read as unknown."""
        for text, encoding in zip(texts, encodings, strict=True):
            if UNK in encoding.ids:
                for index, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
                    if index == UNK:
                        self.unseen += 1
                        if len(self.examples) <= SHOWN:
                            self.examples[text[start:end]] = None

    def lines(self) -> Iterator[str]:
        if self.unseen:
            first = ", ".join(map(repr, list(self.examples)[:SHOWN])) + ", …" * (len(self.examples) > SHOWN)
            yield f"{self.unseen} source tokens were never seen in training, read as unknown: {first}"
        if self.unfinished:
            yield f"{self.unfinished} outputs did not end at the maximum length; see search.max_length"
