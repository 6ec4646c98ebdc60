"""Where pairs come from: the contract, and what is skipped on the way."""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

from transduce.config import Component, Spec
from transduce.data.lines import is_blank

Part = Literal["train", "dev", "test"]
MAX_LISTED = 5  # line numbers named in one message


class Pair(NamedTuple):
    source: str
    target: str


class Row(NamedTuple):
    """The two sides that stand at one line of a file, numbered from 1; either may be blank."""

    line: int
    source: str
    target: str


class Place(NamedTuple):
    """What a pair source is told of its use: the part it fills, the seed, the columns wanted."""

    part: Part = "train"
    seed: int = 1
    source_column: int | str | None = None
    target_column: int | str | None = None


def listed(lines: Sequence[int]) -> str:
    """The first line numbers, as a message names them: "line 4", "lines 2, 3, …"."""
    more = ["…"] if len(lines) > MAX_LISTED else []
    return f"line{'s' if len(lines) > 1 else ''} {', '.join([*map(str, lines[:MAX_LISTED]), *more])}"


@dataclass
class Pairs:
    """All pairs of one part, and the line numbers of those left out for a blank side.

    `first` is the line that the first row stands in: 2 below a header.
    """

    pairs: list[Pair]
    skipped: list[int] = field(default_factory=list)
    first: int = 1

    @property
    def lines(self) -> list[int]:
        """The line number of each pair: each line was either taken or skipped."""
        skipped = set(self.skipped)
        numbers = range(self.first, self.first + len(self.pairs) + len(skipped))
        return [number for number in numbers if number not in skipped]

    def report(self, where: str) -> str | None:
        """One line on what was skipped, or None."""
        if not self.skipped:
            return None
        total = len(self.pairs) + len(self.skipped)
        which = listed(self.skipped)
        return f"{where}: skipped {len(self.skipped)} of {total} pairs with a blank side ({which})"


class PairSource(Component, ABC):
    """Gives pairs, row by row, so that memory need not hold them all.

    One that is `fresh` gives new pairs each epoch, a pure function of seed and epoch. `files` are those
    that it reads; `paths` names the options that are paths, and `suffixes` the endings of a bare path that
    mean this source.
    """

    fresh: bool = False
    files: tuple[str, ...] = ()
    paths: ClassVar[tuple[str, ...]] = ()
    suffixes: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def rows(self, epoch: int = 0) -> Iterator[Row]:
        """Yields one row a line. Raises DataError with `file:line` for a line that holds no pair."""

    def read(self, epoch: int = 0) -> Pairs:
        """All pairs, in memory."""
        return collect(self.rows(epoch))

    def members(self) -> "list[Member]":
        """The corpora that this source is made of: itself, unless it mixes others."""
        return [Member(self, 1.0)]


class Member(NamedTuple):
    """One of several corpora, and how often an epoch takes each of its pairs."""

    source: PairSource
    weight: float


class FileSource(PairSource, ABC):
    """Pairs in files that people bring."""


def numbered(pairs: Iterable[Pair]) -> Iterator[Row]:
    """Pairs as the lines of a file."""
    return (Row(line, *pair) for line, pair in enumerate(pairs, 1))


def collect(rows: Iterable[Row]) -> Pairs:
    """Parts rows with text on both sides from those without."""
    found = Pairs([])
    for line, source, target in rows:
        if not found.pairs and not found.skipped:
            found.first = line
        if is_blank(source) or is_blank(target):
            found.skipped.append(line)
        else:
            found.pairs.append(Pair(source, target))
    return found


def paths_of(spec: Spec[PairSource]) -> Iterator[str]:
    """The paths that a source is to read, or the sources that it mixes."""
    for inner in spec.options.get("sources", ()):
        yield from paths_of(inner)
    yield from (spec.options[key] for key in spec.kind.family[spec.name].paths)


def key_of(text: str, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """One text for all that look alike: in one normal form, and parted by single spaces."""
    return " ".join(unicodedata.normalize(form, text).split())


def joined(parts: Sequence[Pairs]) -> Pairs:
    """The pairs of several corpora, one after the other."""
    if len(parts) == 1:
        return parts[0]
    pairs = [pair for part in parts for pair in part.pairs]
    return Pairs(pairs, [line for part in parts for line in part.skipped], parts[0].first)


def format_of(path: str) -> str:
    """The name of the source that reads a bare path: by its ending, else `tsv`."""
    named = (name for name, source in PairSource.family.items() if path.endswith(source.suffixes))
    return next(named, "tsv")
