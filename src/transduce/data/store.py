"""Encoded pairs on disk: written once, and from then on mapped into memory, whatever their number."""

import array
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from transduce.data.index import Index, Ragged
from transduce.errors import CheckpointError

CHUNK = 1 << 18  # ids kept back until they are written together


class RaggedWriter:
    """Appends sequences to two files: their ids end to end, and where each starts."""

    def __init__(self, folder: Path, side: str) -> None:
        self.files = [open(folder / f"{side}.{part}", "wb") for part in ("ids", "starts")]  # noqa: SIM115
        self.ids, self.starts, self.total = array.array("i"), array.array("q", [0]), 0

    def add(self, ids: Sequence[int]) -> None:
        self.ids.extend(ids)
        self.total += len(ids)
        self.starts.append(self.total)
        if len(self.ids) + len(self.starts) > CHUNK:
            self._flush()

    def _flush(self) -> None:
        for file, waiting in zip(self.files, (self.ids, self.starts), strict=True):
            waiting.tofile(file)
            del waiting[:]

    def close(self) -> None:
        """Closes the files once the disk has all of them."""
        ids, starts = self.files
        with ids, starts:
            self._flush()
            for file in self.files:
                file.flush()
                os.fsync(file.fileno())


class IndexWriter:
    """Writes an index into a folder, pair by pair; used in a `with`."""

    def __init__(self, folder: Path) -> None:
        self.source, self.target = RaggedWriter(folder, "source"), RaggedWriter(folder, "target")

    def add(self, source: Sequence[int], target: Sequence[int]) -> None:
        self.source.add(source)
        self.target.add(target)

    def close(self) -> None:
        self.source.close()
        self.target.close()

    def __enter__(self) -> "IndexWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_index(folder: Path) -> Index:
    """The index that was written into a folder; its arrays are read from the files as they are used.

    Raises CheckpointError where they are not whole.
    """
    index = Index(*(open_ragged(folder, side) for side in Index._fields))
    sources, targets = (len(side.starts) - 1 for side in index)
    if sources != targets:
        raise CheckpointError(f"{folder}: damaged; {sources} sources and {targets} targets")
    return index


def open_ragged(folder: Path, side: str) -> Ragged:
    """The sequences that a `RaggedWriter` wrote into a folder. Raises CheckpointError if cut short."""
    found = Ragged(_map(folder, side, "ids", "i4"), _map(folder, side, "starts", "i8"))
    end = found.starts[-1] if len(found.starts) else None
    if end != len(found.ids):
        raise CheckpointError(
            f"{folder / side}.ids: damaged; expected as many ids as {side}.starts says, {end}; "
            f"got {len(found.ids)}"
        )
    return found


def _map(folder: Path, side: str, part: str, kind: str) -> NDArray:
    path = folder / f"{side}.{part}"
    try:
        size = path.stat().st_size
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read; {error.strerror}") from None
    width = np.dtype(kind).itemsize
    if size % width:
        raise CheckpointError(f"{path}: damaged; expected a multiple of {width} bytes, got {size}")
    return np.memmap(path, dtype=kind, mode="r") if size else np.zeros(0, dtype=kind)  # none cannot be mapped
