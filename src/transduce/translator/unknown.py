"""Unknown tokens of an output, put back as what was read (Luong et al. 2015, arXiv:1410.8206, §3.3)."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from transduce.data.lines import read_lines
from transduce.errors import DataError
from transduce.tokenizers import Tokenizer
from transduce.types import UNK

Dictionary = Mapping[str, str]


def read_dictionary(path: str) -> dict[str, str]:
    """Source word, tab, target word, one pair a line; of a word's lines the first counts."""
    words: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), 1):
        source, tab, target = line.partition("\t")
        if not tab or not source or not target or "\t" in target:
            raise DataError(f"{path}:{number}: expected source word, tab, target word; got {line!r}")
        words.setdefault(source, target)
    return words


def replacements(
    ids: Sequence[int], attention: Float[np.ndarray, "T S"], source: Sequence[str], dictionary: Dictionary
) -> dict[int, str]:
    """For the place of each unknown token the source token it was read from, or what that is translated by.

    `source` holds the text of the real tokens: columns of `attention` past them, such as EOS, are no choice.
    Spaces that a subword takes along are not part of a word.
    """
    places = [place for place, index in enumerate(ids) if index == UNK]
    peaks: list[int] = attention[places, : len(source)].argmax(axis=1).tolist()
    words = [source[peak].strip(" ") or source[peak] for peak in peaks]
    return {place: dictionary.get(word, word) for place, word in zip(places, words, strict=True)}


def decode_with(ids: Sequence[int], replaced: Mapping[int, str], tokenizer: Tokenizer) -> str:
    """The text of these ids, some tokens replaced."""
    whole, pieces, done = tokenizer.decode(ids), [], 0
    for place, word in replaced.items():
        end = len(tokenizer.decode(ids[: place + 1]))
        pieces += [whole[done : end - len(tokenizer.token(ids[place]))], word]
        done = end
    return "".join([*pieces, whole[done:]])
