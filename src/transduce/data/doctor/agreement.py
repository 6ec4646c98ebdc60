"""What mostly agrees on both sides, and where it does not: a sign of pairs that do not belong together."""

import re
import unicodedata
from collections.abc import Callable, Iterator

from transduce.data.doctor.base import Check, Finding, share
from transduce.data.doctor.window import Window
from transduce.data.tally import Tally

ENOUGH = 20  # pairs that can be compared
EXAMPLES = 2
USUAL = 0.8  # of them agree where agreement is the rule
DIGIT = re.compile(r"\d")
CLOSERS = " \u00a0\"'»«”“’‘)]}›‹*_"
ENDS = {"?": "??？؟;՞⁇", "!": "!！՜", ".": ".。｡।॥۔։።។၊။…"}
KINDS = {mark: kind for kind, marks in ENDS.items() for mark in marks}


def digits(text: str) -> str:
    """The digits of any script, by value and in order of value: however numbers are written."""
    return "".join(sorted(str(unicodedata.decimal(digit)) for digit in DIGIT.findall(text)))


def last_mark(text: str) -> str:
    """Whether a text asks, calls or states; "" without a mark."""
    return KINDS.get(text.rstrip(CLOSERS)[-1:], "")


class Agreement:
    """Compares a feature of both sides wherever both have one."""

    def __init__(self, feature: Callable[[str], str]) -> None:
        self.feature = feature
        self.total, self.differs = 0, Tally()
        self.examples: list[str] = []

    def look(self, window: Window) -> None:
        for line, source, target in zip(window.lines, window.source.texts, window.target.texts, strict=True):
            if (left := self.feature(source)) and (right := self.feature(target)):
                self.total += 1
                if left != right:
                    self.differs.add([line])
                    self.examples += [f"{line}: {source} | {target}"] * (len(self.examples) < EXAMPLES)

    def finding(self, check: str, what: str) -> Finding | None:
        """What is found where the rule is agreement, and pairs enough to call it a rule."""
        if not self.differs.count or self.differs.count > (1 - USUAL) * self.total or self.total < ENOUGH:
            return None
        count, part = self.differs.count, share(self.differs.count, self.total)
        text = f"{count:,} of {self.total:,} pairs with {what} on both sides ({part}) differ in them"
        return Finding(
            check, "note", text, count, self.differs.lines, self.examples, {"compared": self.total}
        )


class Digits(Check, name="digits"):
    """Pairs whose digits differ, where most pairs with digits on both sides have the same, in any script."""

    def __init__(self) -> None:
        self.agreement = Agreement(digits)

    def look(self, window: Window) -> None:
        self.agreement.look(window)

    def findings(self) -> Iterator[Finding]:
        if finding := self.agreement.finding(self.name, "digits"):
            yield finding


class LastMarks(Check, name="last_marks"):
    """Pairs of which one side asks or calls and the other does not, where most agree in their last mark."""

    def __init__(self) -> None:
        self.agreement = Agreement(last_mark)

    def look(self, window: Window) -> None:
        self.agreement.look(window)

    def findings(self) -> Iterator[Finding]:
        if finding := self.agreement.finding(self.name, "a last mark (. ! ?)"):
            yield finding
