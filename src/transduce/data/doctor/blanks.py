"""Pairs that lack a side."""

from collections.abc import Iterator

from transduce.data.doctor.base import Check, Finding, many
from transduce.data.doctor.window import Window
from transduce.data.tally import Tally


class Blanks(Check, name="blank_sides"):
    """Lines where a side shows nothing, such as white space: no pair, and skipped wherever pairs are read."""

    def __init__(self) -> None:
        self.tally = Tally()

    def look(self, window: Window) -> None:
        self.tally.add(window.blank)

    def findings(self) -> Iterator[Finding]:
        if self.tally.count:
            text = (
                f"{many(self.tally.count, 'line')} without text on both sides: skipped where pairs are read"
            )
            yield Finding(self.name, "fault", text, self.tally.count, self.tally.lines)
