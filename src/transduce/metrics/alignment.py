"""Word alignments: read off attention, written in Pharaoh's format, and held against gold ones.

A link (i, j) joins source word i to target word j, both counted from 0. Only U+0020 separates words.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from transduce.errors import DataError
from transduce.metrics.base import split_words

Link = tuple[int, int]
WordPlaces = Sequence[int | None]  # of each token the word it stands in, None for spaces and </s>
_LINK = re.compile(r"([0-9]+)([-?p])([0-9]+)")


class GoldAlignment(NamedTuple):
    """What annotators say of one sentence: sure links S, and possible ones P, which hold S."""

    sure: frozenset[Link]
    possible: frozenset[Link]


class AlignmentScore(NamedTuple):
    """Alignment error rate, precision and recall, all 0–1, and the links |A| and |S| they are of."""

    aer: float
    precision: float
    recall: float
    links: int
    sure: int


def alignment_score(found: Sequence[Collection[Link]], gold: Sequence[GoldAlignment]) -> AlignmentScore:
    """Scores alignments A of a corpus, counts summed before dividing (Och & Ney 2003).

    AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|), precision |A ∩ P| / |A|, recall |A ∩ S| / |S|. Where
    nothing is found nothing is wrong, and where nothing is sure nothing is missed. Lower AER is better.
    Raises DataError for corpora of different length.
    """
    if len(found) != len(gold):
        raise DataError(
            f"alignments: expected one gold line per sentence; got {len(gold)} for {len(found)} sentences"
        )
    links, sure = sum(map(len, found)), sum(len(line.sure) for line in gold)
    in_sure = sum(len(line.sure.intersection(one)) for one, line in zip(found, gold, strict=True))
    in_possible = sum(len(line.possible.intersection(one)) for one, line in zip(found, gold, strict=True))
    aer = 1 - (in_sure + in_possible) / (links + sure) if links + sure else 0.0
    precision, recall = (in_possible / links if links else 1.0), (in_sure / sure if sure else 1.0)
    return AlignmentScore(aer, precision, recall, links, sure)


def link_words(
    weights: Float[np.ndarray, "T S"],
    source: WordPlaces,
    target: WordPlaces,
    threshold: float | None = None,
) -> set[Link]:
    """The links that attention `weights` of one sentence suggest, a row a target token.

    What a target word gives to a source word is summed over the source's tokens, and averaged over its
    own. Each target word is linked to the source word with the most, of several the first, unless all
    its attention is on no word; with a `threshold`, to every source word with at least so much.
    """
    given = _membership(target) @ weights[: len(target), : len(source)] @ _membership(source).T
    given = given / np.maximum(1, _membership(target).sum(axis=1, keepdims=True))
    if not given.size:
        return set()
    best = np.arange(given.shape[1]) == given.argmax(axis=1)[:, None]
    chosen = best & (given > 0) if threshold is None else given >= threshold
    return {(int(place), int(word)) for word, place in np.argwhere(chosen)}


def _membership(places: WordPlaces) -> Float[np.ndarray, "words tokens"]:
    """1 where a token stands in a word."""
    words = 1 + max((place for place in places if place is not None), default=-1)
    known = np.array([-1 if place is None else place for place in places], dtype=int)
    return (known == np.arange(words)[:, None]).astype(float)


def word_places(text: str, offsets: Iterable[tuple[int, int]]) -> list[int | None]:
    """The word of `text` in which each token stands, by its first letter; None for spaces alone.

    `offsets` are the tokens' (start, end) in code points. A token across two words counts to the first.
    """
    begins = (letter != " " and (at == 0 or text[at - 1] == " ") for at, letter in enumerate(text))
    words = [count - 1 for count in accumulate(begins)]
    letters = ([at for at in range(*offset) if text[at] != " "] for offset in offsets)
    return [words[found[0]] if found else None for found in letters]


def locate(tokens: Iterable[str], text: str) -> list[tuple[int, int]]:
    """The (start, end) of each of an output's tokens in its detokenised text.

    Raises ValueError where the tokens do not follow one another in the text.
    """
    offsets, end = [], 0
    for token in tokens:
        start = text.index(token, end)
        end = start + len(token)
        offsets.append((start, end))
    return offsets


def format_links(links: Iterable[Link]) -> str:
    """Links as a line in Pharaoh's format, `0-0 1-2`, ordered by source word."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def parse_links(line: str, where: str) -> GoldAlignment:
    """A line in Pharaoh's format: `0-0` is sure, `1?2` or `1p2` possible only; a blank line has no link.

    Raises DataError, naming `where`, for anything else.
    """
    found: dict[str, set[Link]] = {"-": set(), "?": set(), "p": set()}
    for item in split_words(line):
        match = _LINK.fullmatch(item)
        if match is None:
            raise DataError(f"{where}: expected links such as 0-0 (sure) and 1?2 (possible); got {item!r}")
        found[match[2]].add((int(match[1]), int(match[3])))
    sure = frozenset(found["-"])
    return GoldAlignment(sure, sure | found["?"] | found["p"])


def check_links(gold: GoldAlignment, source_words: int, target_words: int, where: str) -> None:
    """Refuses links of words that the sentence does not have. Raises DataError, naming `where`."""
    outside = [f"{i}-{j}" for i, j in sorted(gold.possible) if i >= source_words or j >= target_words]
    if outside:
        raise DataError(
            f"{where}: expected links of {source_words} source and {target_words} target words, counted "
            f"from 0; got {', '.join(outside[:5])}; words are split at spaces"
        )
