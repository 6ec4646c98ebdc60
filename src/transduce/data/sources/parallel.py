"""Parallel files: line n of one is the translation of line n of the other."""

from collections.abc import Iterator
from itertools import zip_longest

from transduce.data.lines import STDIN, read_lines
from transduce.data.pairs import FileSource, Place, Row
from transduce.errors import DataError


class ParallelFiles(FileSource, name="parallel"):
    """Two files, line by line; a different number of lines is an error."""

    paths = ("source", "target")

    def __init__(self, place: Place, *, source: str, target: str) -> None:
        if source == target == STDIN:
            raise DataError("parallel files: expected two files; got standard input for both")
        self.source, self.target, self.files = source, target, (source, target)

    def rows(self, epoch: int = 0) -> Iterator[Row]:
        """Raises after the last line if one file has more of them."""
        sources = targets = 0
        lines = zip_longest(read_lines(self.source), read_lines(self.target))
        for number, (source, target) in enumerate(lines, 1):
            sources += source is not None
            targets += target is not None
            if source is not None and target is not None:
                yield Row(number, source, target)
        if sources != targets:
            raise DataError(
                f"parallel files differ in length: {self.source} has {sources} lines, "
                f"{self.target} has {targets}"
            )
