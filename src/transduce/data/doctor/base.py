"""The contract of a check, and what it finds."""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from transduce.config import Component
from transduce.data.doctor.window import Window

Level = Literal["fault", "note", "fact"]
CONTROLS = {
    "\t": "TAB",
    "\v": "LINE TABULATION",
    "\f": "FORM FEED",
    "\r": "CARRIAGE RETURN",
    "\x85": "NEXT LINE",
}
CONTROLS |= {"\x08": "BACKSPACE", "\x1b": "ESCAPE", "\x7f": "DELETE"}  # which Unicode leaves without a name


@dataclass(frozen=True)
class Finding:
    """One thing found. A fault is surely wrong, a note is worth a look, a fact is neither.

    `count` is how many of what `text` counts; `lines` holds the numbers of the first lines concerned, and
    `values` what else a program may want to know.
    """

    check: str
    level: Level
    text: str
    count: int = 0
    lines: list[int] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)


class Check(Component, ABC):
    """One question put to all pairs: shown every window in order, then asked once for what it found."""

    @abstractmethod
    def look(self, window: Window) -> None: ...

    @abstractmethod
    def findings(self) -> Iterator[Finding]: ...


def many(count: int, noun: str) -> str:
    """A count with its noun: "1 line", "2,000 lines"."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def share(count: int, total: int) -> str:
    """A part in per cent, with a digit more where it is small."""
    percent = 100 * count / total
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.1f} %" if percent >= 0.1 else "below 0.1 %"


def name_of(character: str) -> str:
    """A character by code point and Unicode name."""
    name = unicodedata.name(character, "") or CONTROLS.get(character, "without a name")
    return f"U+{ord(character):04X} {name}"
