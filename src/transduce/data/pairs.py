"""Where pairs come from: the contract, text files, and what is skipped on the way.

Only LF (or CR LF) ends a record; bytes that are not UTF-8 are an error with `file:line`.
"""

import gzip
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from transduce.config import Component
from transduce.errors import DataError, unknown

Part = Literal["train", "dev", "test"]
BOM = "\ufeff"
MAX_LISTED = 5  # line numbers named in one message


class Pair(NamedTuple):
    source: str
    target: str


class Place(NamedTuple):
    """What a pair source is told of its use: the part it fills, the seed, the columns wanted."""

    part: Part = "train"
    seed: int = 1
    source_column: int | str | None = None
    target_column: int | str | None = None


@dataclass
class Pairs:
    """All pairs of one part, and the line numbers of those left out for a blank side."""

    pairs: list[Pair]
    skipped: list[int] = field(default_factory=list)

    def report(self, where: str) -> str | None:
        """One line on what was skipped, or None."""
        if not self.skipped:
            return None
        more = ["…"] if len(self.skipped) > MAX_LISTED else []
        first = ", ".join([*map(str, self.skipped[:MAX_LISTED]), *more])
        total = len(self.pairs) + len(self.skipped)
        return f"{where}: skipped {len(self.skipped)} of {total} pairs with a blank side (lines {first})"


class PairSource(Component, ABC):
    """Gives pairs. One that is `fresh` gives new ones each epoch, a pure function of seed and epoch."""

    fresh: bool = False

    @abstractmethod
    def read(self, epoch: int = 0) -> Pairs: ...


def is_blank(text: str) -> bool:
    """True for text of nothing but white space, of any script."""
    return not text.strip()


def read_lines(path: str | Path) -> Iterator[str]:
    """Yields the lines of a UTF-8 file (`.gz` is unpacked) without their ends, one leading BOM removed."""
    path = Path(path)
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as file:
            yield from decode_lines(file, str(path))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: expected a whole gzip file; {error}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read; {error.strerror or error}") from None


def decode_lines(chunks: Iterator[bytes] | Sequence[bytes], where: str) -> Iterator[str]:
    """Decodes LF-ended byte lines; `where` names the file in errors."""
    for number, raw in enumerate(chunks, 1):
        body = raw.removesuffix(b"\n").removesuffix(b"\r")
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _not_utf8(f"{where}:{number}", body, error.start) from None
        if number == 1 and b"\r" in body and not raw.endswith(b"\n"):
            hint = "convert it with: tr '\\r' '\\n'"
            raise DataError(f"{where}: expected lines ended by LF; got CR alone; {hint}")
        yield text.removeprefix(BOM)


def _not_utf8(where: str, body: bytes, start: int) -> DataError:
    encoding = "UTF-16" if body.startswith((b"\xff\xfe", b"\xfe\xff")) else "LATIN1"
    return DataError(
        f"{where}: expected UTF-8; got byte 0x{body[start]:02x} at byte offset {start} of the line; "
        f"convert it with: iconv -f {encoding} -t UTF-8"
    )


class TsvFile(PairSource, name="tsv"):
    """One pair a line, columns split by tabs; columns by number (from 1) or by the header's names."""

    def __init__(self, place: Place, *, path: str) -> None:
        self.place, self.path = place, path

    def read(self, epoch: int = 0) -> Pairs:
        lines = enumerate(read_lines(self.path), 1)
        columns = (self.place.source_column, self.place.target_column)
        if columns == (None, None):
            return _collect(self._rows(lines, None))
        if None in columns:
            raise DataError("data: expected both source_column and target_column, or neither")
        named = any(isinstance(column, str) for column in columns)
        header = next(lines, (1, ""))[1].split("\t") if named else []
        return _collect(self._rows(lines, (self._find(columns[0], header), self._find(columns[1], header))))

    def _find(self, column: int | str | None, header: list[str]) -> int:
        if isinstance(column, int):
            if column < 1:
                raise DataError(f"data: expected a column number of at least 1; got {column}")
            return column
        if column not in header:
            raise DataError(f"{self.path}:1: {unknown('column', column, header)}")
        return header.index(column) + 1

    def _rows(
        self, lines: Iterator[tuple[int, str]], columns: tuple[int, int] | None
    ) -> Iterator[tuple[int, str, str]]:
        """Yields (line number, source, target), then raises if any line had a wrong number of columns."""
        source, target = columns or (1, 2)
        faults = []
        for number, line in lines:
            cells = line.split("\t")
            if len(cells) == 2 if columns is None else len(cells) >= max(columns):
                yield number, cells[source - 1], cells[target - 1]
            elif is_blank(line):
                yield number, "", ""
            else:
                faults.append((number, len(cells)))
        if faults:
            raise self._misfit(faults, "2" if columns is None else f"at least {max(columns)}")

    def _misfit(self, faults: list[tuple[int, int]], expected: str) -> DataError:
        listed = [
            f"{self.path}:{number}: {count} column{'s' if count > 1 else ''}, expected {expected}"
            for number, count in faults[:MAX_LISTED]
        ]
        if len(faults) > MAX_LISTED:
            listed.append(f"and {len(faults) - MAX_LISTED} more lines")
        if any(count > 2 for _, count in faults):
            listed.append("choose with data.source_column and data.target_column")
        return DataError("; ".join(listed))


class ParallelFiles(PairSource, name="parallel"):
    """Two files, line by line; a different number of lines is an error."""

    def __init__(self, place: Place, *, source: str, target: str) -> None:
        self.source, self.target = source, target

    def read(self, epoch: int = 0) -> Pairs:
        sources, targets = list(read_lines(self.source)), list(read_lines(self.target))
        if len(sources) != len(targets):
            raise DataError(
                f"parallel files differ in length: {self.source} has {len(sources)} lines, "
                f"{self.target} has {len(targets)}"
            )
        return _collect((number, *pair) for number, pair in enumerate(zip(sources, targets, strict=True), 1))


def _collect(rows: Iterator[tuple[int, str, str]]) -> Pairs:
    pairs, skipped = [], []
    for number, source, target in rows:
        if is_blank(source) or is_blank(target):
            skipped.append(number)
        else:
            pairs.append(Pair(source, target))
    return Pairs(pairs, skipped)
