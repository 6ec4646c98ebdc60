"""Translations of lines as they come, written in the form that was asked for."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transduce.cli.beside import Beside
from transduce.cli.streams import read_input, write_lines
from transduce.errors import ConfigError

Alignments = tuple[Path | None, float | None]  # the file, and the least attention that makes a link


class Answers:
    """How lines are translated and shown."""

    def __init__(
        self,
        translator: Any,
        search: Any,
        batch_size: int,
        as_objects: bool,
        attention: bool,
        alternatives: int,
    ) -> None:
        self.translator, self.search, self.batch_size = translator, search, batch_size
        self.attention, self.alternatives = attention, alternatives
        self.show = as_json if as_objects else as_table if search.n_best > 1 else as_text

    def write(
        self, file: str, prefix: Beside, phrases: Beside, alignments: Alignments, replace_unknown: Any
    ) -> None:
        """Answers every line of a file, with what the files beside it ask of each."""
        from transduce.translator.lines import numbered

        line = 0
        with aligner(*alignments, self.translator) as align:
            for group in read_input(file):
                starts, held = prefix.take(len(group), line), phrases.take(len(group), line)
                results = self.translator.stream(
                    numbered(group, starts, held and list(map(split_phrases, held)), line),
                    search=self.search,
                    batch_size=self.batch_size,
                    attention=self.attention or alignments[0] is not None,
                    replace_unknown=replace_unknown,
                    alternatives=self.alternatives,
                )
                write_lines(self.show(align(results), line, self.attention))
                line += len(group)
        prefix.end(line)
        phrases.end(line)


def split_phrases(line: str) -> list[str]:
    return [phrase for phrase in line.split("\t") if phrase]


@contextmanager
def aligner(
    path: Path | None, threshold: float | None, translator: Any
) -> Iterator[Callable[[Iterable], Iterable]]:
    """Writes the word alignments of results as they pass, a line each in Pharaoh's format."""
    if path is None:
        yield lambda results: results
        return
    from transduce.metrics.alignment import format_links

    translator.check_attention("--alignments")
    try:
        file = path.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise ConfigError(f"--alignments {path}: cannot be written; {error.strerror}") from None

    def passing(results: Iterable) -> Iterator:
        for result in results:
            file.write(format_links(translator.word_links(result, threshold)) + "\n")
            yield result

    with file:
        yield passing


def as_text(results: Iterable, line: int, attention: bool) -> Iterator[str]:
    return (result.text for result in results)


def as_json(results: Iterable, line: int, attention: bool) -> Iterator[str]:
    for result in results:
        yield json.dumps(result.plain(attention=attention), ensure_ascii=False)


def as_table(results: Iterable, line: int, attention: bool) -> Iterator[str]:
    for number, result in enumerate(results, line + 1):
        for rank, best in enumerate(result.n_best or [result], 1):
            yield f"{number}\t{rank}\t{best.score:.6f}\t{best.text}"
