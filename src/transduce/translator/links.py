"""Which words of an output were read from which words of its source."""

from transduce.metrics.alignment import Link, link_words, locate, word_places
from transduce.tokenizers import Tokenizer
from transduce.translation import Translation


def word_links(result: Translation, source: Tokenizer, threshold: float | None = None) -> set[Link]:
    """Links (source word, target word) from 0, by the attention that `result` carries.

    Every output word is linked to the source word that it looked at most, or with a `threshold` to every
    one that it gave so much. Words are parted by spaces.
    """
    if result.attention is None:
        raise ValueError("word_links: expected a translation with attention; got one without")
    tokens = result.tokens[: len(result.tokens) - result.finished]
    read = word_places(result.source, source.encode(result.source).offsets)
    return link_words(
        result.attention, read, word_places(result.text, locate(tokens, result.text)), threshold
    )
