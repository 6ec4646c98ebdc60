"""Word vectors in text files, as word2vec, GloVe and fastText write them."""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from transduce.data.lines import read_lines
from transduce.errors import DataError


def read_vectors(path: str | Path, ids: Mapping[str, int], width: int) -> dict[int, NDArray[np.float32]]:
    """The vectors [width] of the symbols in `ids`, by id; of a symbol that stands twice, the first.

    One symbol a line, then `width` numbers parted by spaces; a first line of two whole numbers, count and
    width, is read as such. Raises DataError with `file:line` for a vector of another width, and for numbers
    that are not finite in 32 bits.
    """
    found: dict[int, NDArray[np.float32]] = {}
    for number, line in enumerate(_vectors(path, width), 1):
        symbol, *values = line.rstrip(" ").rsplit(" ", width)
        if len(values) != width:
            raise _misfit(path, number, len(line.split(" ")) - 1, width)
        if symbol in ids and ids[symbol] not in found:
            found[ids[symbol]] = _vector(values, symbol, f"{path}:{number}")
    return found


def _vector(values: list[str], symbol: str, where: str) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):
            vector = np.array(values, dtype=np.float32)
    except ValueError as error:
        raise DataError(f"{where}: expected {len(values)} numbers after {symbol!r}; {error}") from None
    if not (finite := np.isfinite(vector)).all():
        bad = values[int(finite.argmin())]
        raise DataError(f"{where}: expected {len(values)} finite numbers after {symbol!r}; got {bad}")
    return vector


def _vectors(path: str | Path, width: int) -> Iterator[str]:
    """The lines of the file, the header among them as a line that no symbol fits."""
    lines = read_lines(path)
    first = next(lines, "")
    parts = first.split(" ")
    if len(parts) == 2 and all(part.isdecimal() for part in parts):
        if int(parts[1]) != width:
            raise _misfit(path, 1, int(parts[1]), width)
        first = " ".join(["", *["0"] * width])
    elif (got := _numbers(first)) > width:  # fewer are told of where the line is read
        raise _misfit(path, 1, got, width)
    return itertools.chain([first] if first else [], lines)


def _numbers(line: str) -> int:
    """How many numbers end a line, its first word aside."""
    words = line.rstrip(" ").split(" ")[1:]
    return sum(1 for _ in itertools.takewhile(_is_number, reversed(words)))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _misfit(path: str | Path, number: int, got: int, width: int) -> DataError:
    hint = "set the embedding width of the model to that of the vectors"
    return DataError(f"{path}:{number}: expected vectors of width {width}; got {got}; {hint}")
