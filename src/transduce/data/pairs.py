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
        first = ", ".join(map(str, self.skipped[:5])) + (", …" if len(self.skipped) > 5 else "")
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
            raise DataError(
                f"{where}:{number}: expected UTF-8; got byte 0x{body[error.start]:02x} at byte offset "
                f"{error.start} of the line; convert it with: iconv -f LATIN1 -t UTF-8"
            ) from None
        if not raw.endswith(b"\n") and body.count(b"\r") and number == 1:
            raise DataError(f"{where}: expected lines ended by LF; got CR alone; convert it with: tr '\\r' '\\n'")
        yield text.removeprefix(BOM)


class TsvFile(PairSource, name="tsv"):
    """One pair a line, columns split by tabs; columns by number (from 1) or by the header's names."""

    def __init__(self, place: Place, *, path: str) -> None:
        self.place, self.path = place, path

    def read(self, epoch: int = 0) -> Pairs:
        lines = enumerate(read_lines(self.path), 1)
        columns = [self.place.source_column, self.place.target_column]
        if (columns[0] is None) != (columns[1] is None):
            raise DataError("data: expected both source_column and target_column, or neither")
        if any(isinstance(column, str) for column in columns):
            header = next(lines, (1, ""))[1].split("\t")
            columns = [self._find(column, header) for column in columns]
        return _collect((number, *self._pick(number, line, columns)) for number, line in lines)

    def _find(self, column: int | str | None, header: list[str]) -> int:
        if isinstance(column, int):
            return column
        if column not in header:
            raise DataError(f"{self.path}:1: {unknown('column', column, header)}")
        return header.index(column) + 1

    def _pick(self, number: int, line: str, columns: list[int | None]) -> tuple[str, str]:
        cells = line.split("\t")
        wanted = [1, 2] if columns[0] is None else columns
        expected = "2" if columns[0] is None else f"at least {max(wanted)}"
        wrong = len(cells) != 2 if columns[0] is None else len(cells) < max(wanted)
        if wrong and cells != [""]:
            count = f"{len(cells)} column" + "s" * (len(cells) != 1)
            hint = "; choose with data.source_column and data.target_column" if len(cells) > 2 else ""
            raise DataError(f"{self.path}:{number}: {count}, expected {expected}{hint}")
        return ("", "") if wrong else (cells[wanted[0] - 1], cells[wanted[1] - 1])


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
