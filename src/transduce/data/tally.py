"""How many lines something was found in, and the first of them."""

from collections.abc import Iterable

MOST_LINES = 100


class Tally:
    """Counts lines, and keeps the numbers of the first `most`."""

    def __init__(self, most: int = MOST_LINES) -> None:
        self.count, self.most = 0, most
        self.lines: list[int] = []

    def add(self, lines: Iterable[int]) -> None:
        numbers = list(lines)
        self.count += len(numbers)
        self.lines += numbers[: self.most - len(self.lines)]
