"""Tab-separated values: the plainest file of pairs."""

from collections.abc import Iterator

from transduce.data.lines import BOM, is_blank, read_lines
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
        header = [cell.removeprefix(BOM) for cell in next(lines, (1, ""))[1].split("\t")] if named else []
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
        """Raises after the last line if any had a wrong number of columns, and names the first of them.

        Files put side by side, or end to end, bring their byte order marks to the start of any cell.
        """
        source, target = columns or (1, 2)
        misfits = Misfits(self.path, "2" if columns is None else f"at least {max(columns)}")
        for number, line in lines:
            cells = line.split("\t")
            if len(cells) == 2 if columns is None else len(cells) >= max(columns):
                yield Row(number, cells[source - 1].removeprefix(BOM), cells[target - 1].removeprefix(BOM))
            elif is_blank(line):
                yield Row(number, "", "")
            else:
                misfits.add(number, len(cells))
        if misfits.count:
            raise misfits.error()


class Misfits:
    """Counts lines with a wrong number of columns, and keeps the first of them: a file may hold no others."""

    def __init__(self, path: str, expected: str) -> None:
        self.path, self.expected = path, expected
        self.count, self.widest = 0, 0
        self.shown: list[str] = []

    def add(self, line: int, columns: int) -> None:
        self.count, self.widest = self.count + 1, max(self.widest, columns)
        if self.count <= MAX_LISTED:
            many = "s" * (columns > 1)
            self.shown.append(f"{self.path}:{line}: {columns} column{many}, expected {self.expected}")

    def error(self) -> DataError:
        told = list(self.shown)
        if self.count > MAX_LISTED:
            told.append(f"and {self.count - MAX_LISTED} more lines")
        if self.widest > 2:
            told.append("choose two with data.source_column and data.target_column, or inspect --columns")
        return DataError("; ".join(told))
