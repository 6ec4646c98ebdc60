"""The greatest lengths that are trained on, and which pairs exceed them."""

from dataclasses import dataclass, field
from typing import NamedTuple

from transduce.data.pairs import MAX_LISTED, listed
from transduce.data.tally import Tally


class Limits(NamedTuple):
    """Most tokens of each side, the end of the sentence aside; None: as many as there are."""

    source: int | None = None
    target: int | None = None

    def __str__(self) -> str:
        return f"max_source_length {self.source}, max_target_length {self.target}"

    def exceeded(self, source: int, target: int) -> list[str]:
        """Which limits a pair of these lengths exceeds."""
        sides = (("source", source, self.source), ("target", target, self.target))
        return [
            f"{side} longer than {most}" for side, length, most in sides if most is not None and length > most
        ]


@dataclass
class Admission:
    """Counts pairs as they pass, and those that exceed a limit, with the first line numbers of each."""

    limits: Limits
    seen: int = 0
    over: int = 0
    exceeding: dict[str, Tally] = field(default_factory=dict)

    def admits(self, line: int, source: int, target: int) -> bool:
        """Whether a pair of these lengths is within the limits; counts it either way."""
        reasons = self.limits.exceeded(source, target)
        self.seen += 1
        self.over += bool(reasons)
        for reason in reasons:
            self.exceeding.setdefault(reason, Tally(MAX_LISTED + 1)).add([line])  # one more shows as "…"
        return not reasons

    def report(self) -> str | None:
        """How many pairs exceed a limit, which one, and where; None where all are within."""
        if not self.over:
            return None
        order = sorted(self.exceeding, key=lambda reason: not reason.startswith("source"))
        reasons = (f"{reason} ({listed(self.exceeding[reason].lines)})" for reason in order)
        return f"{self.over} of {self.seen} skipped: {', '.join(reasons)}"
