"""Which characters and scripts each side is written in."""

import unicodedata
from collections import Counter
from collections.abc import Iterator

from transduce.data.doctor.base import Check, Finding, share
from transduce.data.doctor.window import Window

RARE = 2  # times
SHOWN = 12  # rare characters named in a report
SCRIPTS = {"CJK": "HAN", "MICRO": "GREEK", "OHM": "GREEK", "KELVIN": "LATIN", "ANGSTROM": "LATIN"}


class Alphabets(Check, name="alphabet"):
    """The characters of each side: how many, of which scripts, and those seen too seldom to be learnt."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {"source": Counter(), "target": Counter()}

    def look(self, window: Window) -> None:
        for name, side in window.sides:
            self.counts[name].update({one: int(side.counts[ord(one)]) for one in side.present})

    def findings(self) -> Iterator[Finding]:
        for side, counts in self.counts.items():
            scripts = Counter[str]()
            for character, count in counts.items():
                scripts[script(character)] += count
            del scripts[""]
            order = sorted(scripts.items(), key=lambda item: (-item[1], item[0]))
            parts = (f"{name} {share(count, scripts.total())}" for name, count in order)
            rare = sorted(character for character, count in counts.items() if count <= RARE)
            values = {"side": side, "scripts": dict(order), "rare": rare}
            text = f"{side}: {len(counts):,} different characters; letters: {', '.join(parts) or 'none'}"
            more = " …" if len(rare) > SHOWN else ""
            seen = " ".join(printable(character) for character in rare[:SHOWN])
            shown = [f"{len(rare):,} seen once or twice: {seen}{more}"] if rare else []
            yield Finding(self.name, "fact", text, len(counts), [], shown, values)


def script(character: str) -> str:
    """The script of a letter, as the first word of its Unicode name has it; "" for anything else."""
    if unicodedata.category(character) not in ("Ll", "Lu", "Lt", "Lo"):
        return ""
    first = unicodedata.name(character, "").split(" ")[0]
    return SCRIPTS.get(first, first).capitalize()


def printable(character: str) -> str:
    """A character as it can be shown alone: marks on a dotted circle, what is unseen by number."""
    category = unicodedata.category(character)
    if category.startswith("M"):
        return f"\u25cc{character}"
    return f"U+{ord(character):04X}" if category[0] in "CZ" else character
