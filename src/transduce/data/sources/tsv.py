"""Tab-separated values: the plainest file of pairs."""

from collections.abc import Iterator

from transduce.data.lines import is_blank, read_lines
from transduce.data.pairs import MAX_LISTED, FileSource, Place, Row
from transduce.errors import DataError, unknown


class TsvFile(FileSource, name="tsv"):
    """One pair a line, columns split by tabs; columns by number (from 1) or by the header's names."""

    paths = ("path",)

    def __init__(self, place: Place, *, path: str) -> None:
        self.place, self.path, self.files = place, path, (path,)

    def rows(self, epoch: int = 0) -> Iterator[Row]:
        lines = enumerate(read_lines(self.path), 1)
        columns = (self.place.source_column, self.place.target_column)
        if columns == (None, None):
            yield from self._rows(lines, None)
            return
        if None in columns:
            raise DataError("data: expected both source_column and target_column, or neither")
        named = any(isinstance(column, str) for column in columns)
        header = next(lines, (1, ""))[1].split("\t") if named else []
        yield from self._rows(lines, (self._find(columns[0], header), self._find(columns[1], header)))

    def _find(self, column: int | str | None, header: list[str]) -> int:
        if isinstance(column, int):
            if column < 1:
                raise DataError(f"data: expected a column number of at least 1; got {column}")
            return column
        if column not in header:
            raise DataError(f"{self.path}:1: {unknown('column', column, header)}")
        return header.index(column) + 1

    def _rows(self, lines: Iterator[tuple[int, str]], columns: tuple[int, int] | None) -> Iterator[Row]:
        """Raises after the last line if any had a wrong number of columns, and names the first of them."""
        source, target = columns or (1, 2)
        faults = []
        for number, line in lines:
            cells = line.split("\t")
            if len(cells) == 2 if columns is None else len(cells) >= max(columns):
                yield Row(number, cells[source - 1], cells[target - 1])
            elif is_blank(line):
                yield Row(number, "", "")
            else:
                faults.append((number, len(cells)))
        if faults:
            raise self._misfit(faults, "2" if columns is None else f"at least {max(columns)}")

    def _misfit(self, faults: list[tuple[int, int]], expected: str) -> DataError:
        shown = [
            f"{self.path}:{number}: {count} column{'s' if count > 1 else ''}, expected {expected}"
            for number, count in faults[:MAX_LISTED]
        ]
        if len(faults) > MAX_LISTED:
            shown.append(f"and {len(faults) - MAX_LISTED} more lines")
        if any(count > 2 for _, count in faults):
            shown.append("choose two with data.source_column and data.target_column, or inspect --columns")
        return DataError("; ".join(shown))
