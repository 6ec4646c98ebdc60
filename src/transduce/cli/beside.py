"""Files that are read along with the input, a line for each line of it."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path


class Beside:
    """The lines of a file, taken as many at a time as the input gives; nothing without a file."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.lines = path, iter(())
        if path is not None:
            self.lines = self.read(str(path))

    def read(self, path: str) -> Iterator[str]:
        from transduce.data.lines import read_lines

        yield from read_lines(path)

    def take(self, count: int, taken: int) -> list[str] | None:
        """The next `count` lines, after `taken` ones. Raises DataError where the file has fewer."""
        from transduce.errors import DataError

        found = list(islice(self.lines, count))
        if self.path is None:
            return None
        if len(found) < count:
            raise DataError(
                f"{self.path}: expected a line for each line of the input; got {taken + len(found)} lines"
            )
        return found

    def end(self, taken: int) -> None:
        """Raises DataError where the file has more lines than were taken."""
        from transduce.errors import DataError

        if next(self.lines, None) is not None:
            raise DataError(f"{self.path}: expected as many lines as the input has, {taken}; got more")
