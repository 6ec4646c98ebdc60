"""Pairs whose target is their source."""

from collections.abc import Iterator

from transduce.data.doctor.base import Check, Finding, many, share
from transduce.data.doctor.window import Window
from transduce.data.tally import Tally


class Copies(Check, name="copies"):
    """Lines with the same text on both sides: left untranslated, or names and numbers that stay."""

    def __init__(self) -> None:
        self.tally, self.total = Tally(), 0

    def look(self, window: Window) -> None:
        self.total += len(window.lines)
        sides = zip(window.lines, window.source.texts, window.target.texts, strict=True)
        self.tally.add(line for line, source, target in sides if source == target)

    def findings(self) -> Iterator[Finding]:
        if self.tally.count:
            part = share(self.tally.count, self.total)
            text = f"{many(self.tally.count, 'pair')} ({part}) with the same text on both sides"
            yield Finding(self.name, "note", text, self.tally.count, self.tally.lines)
