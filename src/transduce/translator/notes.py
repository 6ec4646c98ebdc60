"""What a user should hear about after a translation."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator

from transduce.tokenizers import Encoding
from transduce.types import UNK


@dataclasses.dataclass
class Notes:
    """What a user should hear about after a translation."""

    unseen: Counter[str] = dataclasses.field(default_factory=Counter)
    unfinished: int = 0

    def note_unseen(self, texts: Iterable[str], encodings: Iterable[Encoding]) -> None:
        """Counts the tokens of these texts that were read as unknown."""
        for text, encoding in zip(texts, encodings, strict=True):
            if UNK in encoding.ids:
                for index, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
                    if index == UNK:
                        self.unseen[text[start:end]] += 1

    def lines(self) -> Iterator[str]:
        if self.unseen:
            first = ", ".join(map(repr, list(self.unseen)[:5])) + (", …" if len(self.unseen) > 5 else "")
            yield f"{self.unseen.total()} source tokens were never seen in training, read as unknown: {first}"
        if self.unfinished:
            yield f"{self.unfinished} outputs did not end at the maximum length; see search.max_length"
