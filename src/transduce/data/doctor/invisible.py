"""Characters that no one sees, and a model does."""

import unicodedata
from collections.abc import Iterator
from functools import cache

from transduce.data.doctor.base import Check, Finding, many, name_of
from transduce.data.doctor.window import Side, Window
from transduce.data.tally import Tally

HIDDEN = ("Cc", "Cf", "Co", "Cn", "Zl", "Zp", "Zs")  # control, format, private, unassigned, separators
FAULTY = ("Cc", "Cn", "Zl", "Zp")
REMARKS = {
    "\u200d": "shapes letters in Indic scripts, and joins emoji: mostly right",
    "\u200c": "shapes letters in Indic scripts and Persian: mostly right",
    "\u200b": "parts words in Khmer, Thai, Lao, Burmese: right there, a leftover elsewhere",
    "\u00a0": "a space that the tokenizer `word` does not split at",
    "\u202f": "a space that the tokenizer `word` does not split at",
    "\u3000": "a space that the tokenizer `word` does not split at",
    "\u00ad": "allows a hyphen here: mostly a leftover of layout",
    "\ufeff": "a byte order mark within a line: files were joined without care",
    "\ufffd": "stands for bytes that an earlier conversion has lost",
    "\u034f": "keeps accents apart: mostly right",
    **dict.fromkeys("\u200e\u200f\u061c", "sets the direction of writing: right beside Arabic or Hebrew"),
    **dict.fromkeys(
        "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", "turns the direction of writing"
    ),
    **dict.fromkeys("\ufe0e\ufe0f", "chooses the look of the character before it"),
}
ALSO = frozenset("\ufffd\u034f\u115f\u1160\u2800\u3164\uffa0") | {chr(code) for code in range(0xFE00, 0xFE10)}


@cache
def is_hidden(character: str) -> bool:
    if character in " \n":
        return False
    return character in ALSO or unicodedata.category(character) in HIDDEN


def is_faulty(character: str) -> bool:
    """Never right within a line of text, whatever the script."""
    return character in "\ufeff\ufffd" or unicodedata.category(character) in FAULTY


class Invisible(Check, name="invisible"):
    """Zero-width characters, spaces but U+0020, direction marks, controls, by code point and Unicode name.

    Joiners are letters' tools in Indic scripts and Persian: they are told of, never called faults.
    """

    def __init__(self) -> None:
        self.tallies: dict[tuple[str, str], Tally] = {}
        self.times: dict[tuple[str, str], int] = {}

    def look(self, window: Window) -> None:
        for name, side in window.sides:
            for character in filter(is_hidden, side.present):
                self._count(name, side, window, character)

    def _count(self, name: str, side: Side, window: Window, character: str) -> None:
        key = (character, name)
        self.times[key] = self.times.get(key, 0) + int(side.counts[ord(character)])
        self.tallies.setdefault(key, Tally()).add(window.at(side.rows_with(character)))

    def findings(self) -> Iterator[Finding]:
        for (character, side), tally in sorted(self.tallies.items()):
            remark = REMARKS.get(character, "")
            times = self.times[character, side]
            text = f"{side}: {name_of(character)}, {many(times, 'time')} in {many(tally.count, 'line')}"
            yield Finding(
                self.name,
                "fault" if is_faulty(character) else "note",
                f"{text}: {remark}" if remark else text,
                tally.count,
                tally.lines,
                values={"side": side, "code_point": f"U+{ord(character):04X}", "times": times},
            )
