"""White space that stands where none is needed."""

import re
from collections.abc import Iterator

from transduce.data.doctor.base import Check, Finding, many
from transduce.data.doctor.window import Window
from transduce.data.tally import Tally

DOUBLE = re.compile(r"\s\s")


class Spaces(Check, name="spaces"):
    """White space at the ends of a text, and two in a row: symbols like any other to most tokenizers."""

    def __init__(self) -> None:
        kinds = ("source", "target")
        self.edges = {side: Tally() for side in kinds}
        self.double = {side: Tally() for side in kinds}

    def look(self, window: Window) -> None:
        for name, side in window.sides:
            texts = list(zip(window.lines, side.texts, strict=True))
            self.edges[name].add(line for line, text in texts if text != text.strip())
            self.double[name].add(line for line, text in texts if DOUBLE.search(text.strip()))

    def findings(self) -> Iterator[Finding]:
        kinds = {"with white space at an end": self.edges, "with two spaces in a row": self.double}
        for kind, tallies in kinds.items():
            for side, tally in tallies.items():
                if tally.count:
                    text = f"{side}: {many(tally.count, 'line')} {kind}"
                    yield Finding(self.name, "note", text, tally.count, tally.lines, values={"side": side})
