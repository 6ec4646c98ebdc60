"""How the members of an ensemble are given texts to read."""

from collections.abc import Iterable
from typing import NamedTuple

from transduce.data.batch import source_batch
from transduce.tokenizers import Tokenizer
from transduce.types import Source


class Reader(NamedTuple):
    """A source tokenizer, and whether EOS ends what is read."""

    tokenizer: Tokenizer
    eos: bool

    def read(self, texts: Iterable[str]) -> Source:
        """A batch of these texts. Raises ValueError where one has no token."""
        return source_batch((self.tokenizer.encode(text).ids for text in texts), eos=self.eos)
