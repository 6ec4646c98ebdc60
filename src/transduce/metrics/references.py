"""The accepted answers of each line, one text or several, and what is refused for them."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import TypeGuard

from transduce.errors import DataError

References = Sequence[str | Sequence[str]]  # of each line one text, or its accepted answers
Answers = list[tuple[str, ...]]


def check_lengths(hypotheses: Sequence[object], references: Sequence[object]) -> None:
    """Refuses anything but one hypothesis, a text, per line of references, and at least one of them.

    A line of references is one text or a sequence of at least one: `[[r1], [r2, r3]]` is for two
    hypotheses. `[[r1, r2, r3]]` is one line with three answers, and refused for three hypotheses.
    Raises DataError: lengths that differ (both are named), no lines, or a line that is not text.
    """
    for what, lines in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(lines, str):
            raise DataError(f"{what}: expected a list of lines; got one text; put it in a list")
    if len(hypotheses) != len(references):
        nested = "; several references go together line by line" * any(map(_several, references))
        raise DataError(
            f"metrics: expected one hypothesis per reference; "
            f"got {len(hypotheses)} hypotheses and {len(references)} references{nested}"
        )
    if not hypotheses:
        raise DataError("metrics: expected at least one line to score; got 0 hypotheses and 0 references")
    for number, line in enumerate(hypotheses, 1):
        hint = "; give the lines as one flat list" if _several(line) else ""
        _check_text(line, f"hypotheses: line {number}", hint)
    for number, line in enumerate(references, 1):
        _check_answers(line, f"references: line {number}")


def accepted(hypotheses: Sequence[str], references: References) -> Answers:
    """All answers of each line, after `check_lengths`, whose DataError it passes on."""
    check_lengths(hypotheses, references)
    return [(line,) if isinstance(line, str) else tuple(line) for line in references]


def count_references(answers: Sequence[Sequence[str]]) -> str:
    """How many answers the lines have, as signatures say it: a number, or `var` where lines differ."""
    counts = {len(line) for line in answers}
    return str(counts.pop()) if len(counts) == 1 else "var"


def by_line(streams: Sequence[Sequence[str | None]]) -> Answers:
    """Turns whole translations of a corpus, one per annotator or file, into the answers of each line.

    None stands where a translation lacks the line. This is how sacreBLEU nests references.
    Raises DataError: translations that differ in length, none at all, or a line that all of them lack.
    """
    if any(isinstance(stream, str) for stream in streams):
        raise DataError("references: expected lists of lines; got one text; put its lines in a list")
    sizes = {len(stream) for stream in streams}
    if len(sizes) != 1:
        got = f"got {', '.join(map(str, sorted(sizes)))}" if sizes else "got no references"
        raise DataError(f"references: expected the same number of lines in each; {got}")
    lines = [tuple(text for text in line if text is not None) for line in zip(*streams, strict=True)]
    if () in lines:
        raise DataError(
            f"references: line {lines.index(()) + 1}: expected an answer; got none in any of them"
        )
    return lines


def by_rank(answers: Sequence[Sequence[str]]) -> list[tuple[str | None, ...]]:
    """Undoes `by_line`: every first answer, every second, …, with None where a line has no more."""
    return list(zip_longest(*answers))


def _several(line: object) -> TypeGuard[Sequence[object]]:
    return isinstance(line, Sequence) and not isinstance(line, str | bytes | bytearray)


def _check_answers(line: object, where: str) -> None:
    if not _several(line):
        _check_text(line, where)
    elif not line:
        raise DataError(f"{where}: expected at least one answer; got none")
    else:
        for number, answer in enumerate(line, 1):
            _check_text(answer, f"{where}: answer {number}")


def _check_text(line: object, where: str, hint: str = "") -> None:
    if not isinstance(line, str):
        raise DataError(f"{where}: expected text; got {type(line).__name__}{hint}")
