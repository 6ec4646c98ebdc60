"""One pass over a file of pairs, by every check there is."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from transduce.data.doctor.base import Check, Finding
from transduce.data.doctor.cleaner import Cleaner
from transduce.data.doctor.window import windows
from transduce.data.pairs import Row


class Diagnosis(NamedTuple):
    """What was found, and how much was looked at."""

    lines: int
    pairs: int
    findings: list[Finding]

    def of(self, level: str) -> list[Finding]:
        return [finding for finding in self.findings if finding.level == level]

    def plain(self) -> dict[str, Any]:
        """The object that `inspect --json` prints."""
        findings = [
            {key: value for key, value in vars(finding).items() if value not in ([], {})}
            for finding in self.findings
        ]
        counts = {"faults": len(self.of("fault")), "notes": len(self.of("note"))}
        return {"lines": self.lines, "pairs": self.pairs, **counts, "findings": findings}


def examine(rows: Iterable[Row], extra: Sequence[Check] = (), cleaner: Cleaner | None = None) -> Diagnosis:
    """Shows the rows to every check of the family, and `extra` ones, and to a cleaner, in one pass."""
    checks = [*(check() for check in Check.family.values()), *extra]
    lines = pairs = 0
    for window in windows(rows):
        lines += len(window.lines) + len(window.blank)
        pairs += len(window.lines)
        for check in checks:
            check.look(window)
        if cleaner is not None:
            cleaner.look(window)
    if not pairs:
        nothing = Finding("pairs", "fault", "no line has text on both sides", lines)
        return Diagnosis(lines, pairs, [nothing])
    return Diagnosis(lines, pairs, [finding for check in checks for finding in check.findings()])
