"""Text that was read in a wrong encoding and saved again."""

import re
from collections.abc import Iterator

from transduce.data.doctor.base import Check, Finding, many
from transduce.data.doctor.window import Window
from transduce.data.tally import Tally

EXAMPLES = 3
WINDOWS = re.escape(bytes(range(0x80, 0xA0)).decode("cp1252", errors="ignore"))
RUN = re.compile(f"[Â-ô][\x80-¿{WINDOWS}]+")  # a first byte and those that follow it, misread
CLOSING = frozenset("»«”“’‘…–—•›‹")  # may follow a letter in good text: CAFÉ»


class Mojibake(Check, name="mojibake"):
    """UTF-8 that was taken for Latin-1 or Windows-1252: "Ã©" for "é", "à°•" for "క"."""

    def __init__(self) -> None:
        self.tallies = {"source": Tally(), "target": Tally()}
        self.runs: dict[str, dict[str, None]] = {"source": {}, "target": {}}

    def look(self, window: Window) -> None:
        for name, side in window.sides:
            if not RUN.search(side.joined):
                continue
            for line, text in zip(window.lines, side.texts, strict=True):
                if broken := [run for run in RUN.findall(text) if meant(run)]:
                    self.tallies[name].add([line])
                    if len(self.runs[name]) < EXAMPLES:
                        self.runs[name].update(dict.fromkeys(broken))

    def findings(self) -> Iterator[Finding]:
        for side, tally in self.tallies.items():
            if tally.count:
                shown = [f"{run!r} for {meant(run)!r}" for run in [*self.runs[side]][:EXAMPLES]]
                text = f"{side}: {many(tally.count, 'line')} with UTF-8 that was read as another encoding"
                yield Finding(self.name, "fault", text, tally.count, tally.lines, shown, {"side": side})


def meant(run: str) -> str:
    """What a run of characters was before it was misread; "" where it can be good text."""
    if CLOSING.issuperset(run[1:]):
        return ""
    try:
        return b"".join(byte_of(character) for character in run).decode("utf-8")
    except UnicodeDecodeError:
        return ""


def byte_of(character: str) -> bytes:
    """The byte that Windows-1252, or Latin-1 where that has none, reads as this character."""
    return character.encode("latin-1" if ord(character) < 0x100 else "cp1252")
