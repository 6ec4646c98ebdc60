"""What two files share: pairs that are trained on and scored, characters that were never trained on."""

from collections.abc import Iterable, Iterator

from transduce.data.doctor.alphabets import printable
from transduce.data.doctor.base import Check, Finding, Level, many, name_of, share
from transduce.data.doctor.invisible import is_hidden
from transduce.data.doctor.window import Window, windows
from transduce.data.pairs import Row, key_of
from transduce.data.tally import Tally

NAMED = 3  # unseen characters named in a report
SHOWN = 20  # of the others


class Known:
    """What another file holds: its pairs and sources, as hashes of their keys, and its characters."""

    def __init__(self, label: str, rows: Iterable[Row]) -> None:
        self.label = label
        self.pairs: set[int] = set()
        self.sources: set[int] = set()
        self.characters: dict[str, set[str]] = {"source": set(), "target": set()}
        for window in windows(rows):
            sources, pairs = hashes(window)
            self.sources.update(sources)
            self.pairs.update(pairs)
            for name, side in window.sides:
                self.characters[name].update(side.present)


def hashes(window: Window) -> tuple[list[int], list[int]]:
    """Of each source, and of each pair, as texts that look alike have them in common."""
    sources, targets = (list(map(key_of, side.texts)) for _, side in window.sides)
    return list(map(hash, sources)), list(map(hash, zip(sources, targets, strict=True)))


class Leakage(Check):
    """Pairs, and sources, that another file holds too: trained on, their scores are too good."""

    name = "leakage"

    def __init__(self, known: Known) -> None:
        self.known, self.total = known, 0
        self.pairs, self.sources = Tally(), Tally()

    def look(self, window: Window) -> None:
        self.total += len(window.lines)
        shared = ((self.sources, self.known.sources), (self.pairs, self.known.pairs))
        for (tally, known), found in zip(shared, hashes(window), strict=True):
            tally.add(line for line, key in zip(window.lines, found, strict=True) if key in known)

    def findings(self) -> Iterator[Finding]:
        kinds: list[tuple[Level, str, Tally]] = [
            ("fault", "pairs", self.pairs),
            ("note", "sources", self.sources),
        ]
        for level, what, tally in kinds:
            if tally.count and (what == "pairs" or tally.count > self.pairs.count):
                part = f"{tally.count:,} of {self.total:,} {what} ({share(tally.count, self.total)})"
                text = f"{part} also in {self.known.label}"
                values = {"with": self.known.label, "what": what}
                yield Finding(self.name, level, text, tally.count, tally.lines, values=values)


class Unseen(Check):
    """Characters that the training data lacks: a model knows nothing of them."""

    name = "unseen_characters"

    def __init__(self, known: Known) -> None:
        self.known = known
        self.tallies = {"source": Tally(), "target": Tally()}
        self.characters: dict[str, dict[str, None]] = {"source": {}, "target": {}}

    def look(self, window: Window) -> None:
        for name, side in window.sides:
            unseen = [one for one in side.present if one not in self.known.characters[name]]
            if unseen:
                self.tallies[name].add(window.at(side.rows_with(unseen)))
                self.characters[name].update(dict.fromkeys(unseen))

    def findings(self) -> Iterator[Finding]:
        for side, tally in self.tallies.items():
            if tally.count:
                unseen = sorted(self.characters[side])
                shown = [
                    name_of(one) if is_hidden(one) else f"{printable(one)} {name_of(one)}"
                    for one in unseen[:NAMED]
                ]
                if rest := unseen[NAMED:]:
                    cut = " …" if len(rest) > SHOWN else ""
                    shown.append(f"and {len(rest):,} more: {' '.join(map(printable, rest[:SHOWN]))}{cut}")
                found = f"{many(len(unseen), 'character')} in {many(tally.count, 'line')}"
                text = f"{side}: {found} that {self.known.label} never shows"
                values = {"side": side, "characters": unseen}
                yield Finding(self.name, "note", text, tally.count, tally.lines, shown, values)
