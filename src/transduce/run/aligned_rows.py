"""Training rows and the lines of word alignments beside them."""

from collections.abc import Iterable, Iterator

from transduce.data.alignments import spread
from transduce.data.lines import read_lines
from transduce.data.pairs import Row
from transduce.errors import DataError
from transduce.metrics.alignment import check_links, parse_links, word_places
from transduce.metrics.base import split_words
from transduce.tokenizers import Encoding


class AlignedRows:
    """Takes a line of `data.alignments` for each line of the training data; none where there is no file.

    A header has no line there, blank pairs do. Only sure links guide: `1?2` does not.
    """

    def __init__(self, path: str | None, files: Iterable[str]) -> None:
        self.path, self.files = path, ", ".join(files) or "data.train"
        self.lines = iter(()) if path is None else read_lines(path)
        self.rows = self.read = 0

    def beside(self, rows: Iterable[Row]) -> Iterator[tuple[Row, str | None]]:
        """Each row with its line; None where the file has ended."""
        for row in rows:
            line = next(self.lines, None)
            self.rows += 1
            self.read += line is not None
            yield row, line

    def links(self, row: Row, line: str, source: Encoding, target: Encoding) -> list[int]:
        """Which tokens of the row just given the words' links join, as `spread` lists them.

        Raises DataError with `file:line` for what are no links of its words.
        """
        where = f"{self.path}:{self.read}"
        gold = parse_links(line, where)
        check_links(gold, len(split_words(row.source)), len(split_words(row.target)), where)
        places = word_places(row.source, source.offsets), word_places(row.target, target.offsets)
        return spread(gold.sure, *places)

    def end(self) -> None:
        """Raises DataError where there were more rows or more lines."""
        if self.path is None:
            return
        self.read += sum(1 for _ in self.lines)
        if self.read != self.rows:
            raise DataError(
                f"data.alignments: expected a line for each of the {self.rows:,} lines of {self.files}; "
                f"{self.path} has {self.read:,}"
            )
