"""Words that mix letters of scripts whose letters look alike."""

import re
from collections.abc import Iterator

from transduce.data.doctor.base import Check, Finding, many, name_of
from transduce.data.doctor.window import Side, Window
from transduce.data.tally import Tally

EXAMPLES = 3
LETTERS = {  # β, θ and χ are at home in Greek and, as phonetic letters, in Latin: they decide nothing
    "Latin": "A-Za-zªºÀ-ÖØ-öø-ʯḀ-ỿⱠ-Ɀ꜠-ꟊ",
    "Greek": "Ͱ-αγ-ηι-φψ-Ͽἀ-῾",
    "Cyrillic": "Ѐ-ҁҊ-ԯᲀ-\u1c8aꙀ-ꚝ",
}
ANY = re.compile(f"[{LETTERS['Greek']}{LETTERS['Cyrillic']}]")
MARKS = "[\u0300-\u036f]*"
MIXED = re.compile(
    "|".join(
        f"[{letters}]{MARKS}[{''.join(other for name, other in LETTERS.items() if name != script)}]"
        for script, letters in LETTERS.items()
    )
)


class MixedScripts(Check, name="mixed_scripts"):
    """Words with neighbouring letters of two of the scripts Latin, Greek and Cyrillic: often a lookalike."""

    def __init__(self) -> None:
        self.tallies = {"source": Tally(), "target": Tally()}
        self.words: dict[str, dict[str, None]] = {"source": {}, "target": {}}

    def look(self, window: Window) -> None:
        for name, side in window.sides:
            if ANY.search("".join(side.present)):
                self._search(name, side, window)

    def _search(self, name: str, side: Side, window: Window) -> None:
        for line, text in zip(window.lines, side.texts, strict=True):
            if MIXED.search(text):
                self.tallies[name].add([line])
                if len(self.words[name]) < EXAMPLES:
                    self.words[name].update(dict.fromkeys(filter(MIXED.search, text.split())))

    def findings(self) -> Iterator[Finding]:
        for side, tally in self.tallies.items():
            if tally.count:
                shown = [f"{word!r}: {odd_letters(word)}" for word in [*self.words[side]][:EXAMPLES]]
                text = f"{side}: {many(tally.count, 'line')} with a word of two alphabets that look alike"
                yield Finding(self.name, "note", text, tally.count, tally.lines, shown, {"side": side})


def odd_letters(word: str) -> str:
    """The letters of the scripts that are rarer in a word, by name."""
    found = {name: re.findall(f"[{letters}]", word) for name, letters in LETTERS.items()}
    usual = max(found, key=lambda name: len(found[name]))
    odd = dict.fromkeys(letter for name, letters in found.items() if name != usual for letter in letters)
    return ", ".join(map(name_of, odd))
