"""Unicode normal forms, and where each normalised code point stood in the text as it was given."""

import functools
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

NormalForm = Literal["none", "nfc", "nfd", "nfkc", "nfkd"]
FORMS: Mapping[NormalForm, Literal["NFC", "NFD", "NFKC", "NFKD"]] = {
    "nfc": "NFC",
    "nfd": "NFD",
    "nfkc": "NFKC",
    "nfkd": "NFKD",
}


class Places(NamedTuple):
    """For each normalised code point, the stretch of the given text that it came from."""

    starts: list[int]
    ends: list[int]


def normalised(text: str, form: NormalForm) -> str:
    return text if form == "none" else unicodedata.normalize(FORMS[form], text)


def places(text: str, form: NormalForm) -> Places:
    """The shortest stretches of `text` that stand for each code point of `normalised(text, form)`.

    They follow one another without a gap. Code points of one stretch that the form changed share all of it:
    both letters of a normalised ligature stand where the ligature stood.
    """
    starts, ends = [], []
    for start, stretch in stretches(text):
        end, normal = start + len(stretch), normalised(stretch, form)
        if normal == stretch:
            starts += range(start, end)
            ends += range(start + 1, end + 1)
        else:
            starts += [start] * len(normal)
            ends += [end] * len(normal)
    return Places(starts, ends)


def stretches(text: str) -> Iterator[tuple[int, str]]:
    """Cuts `text` where every normal form can be taken of both sides apart."""
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or not joins(text[place]):
            yield start, text[start:place]
            start = place


@functools.cache
def joins(character: str) -> bool:
    """Whether a normal form may compose or reorder this character with what stands before it."""
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.combining(first) != 0 or first in composing()


@functools.cache
def composing() -> frozenset[str]:
    """The second halves of all composed characters, read from Python's own tables."""
    rules = (unicodedata.decomposition(chr(code)).split() for code in range(0x20000))  # beyond: ideographs
    halves = {chr(int(rule[1], 16)) for rule in rules if len(rule) == 2 and not rule[0].startswith("<")}
    return frozenset(halves) | {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
