"""What must hold before a corpus is scored, and what is worth a warning beside its scores."""

import re
from collections.abc import Sequence

from transduce.errors import DataError

_MARKS = ".,?!;:،؛؟।。、，？！；："
_SPACED = re.compile(rf"[ \u00a0\u202f][{_MARKS}](?= |$)|(?:^| )[\"'“”‘’„](?= |$)")
_ATTACHED = re.compile(rf"[^ \u00a0\u202f](?:[{_MARKS}]|[\"”])(?= |$)|(?:^| )[\"“„][^ ]")


def check_lengths(hypotheses: Sequence[object], references: Sequence[object]) -> None:
    """Refuses anything but one hypothesis per reference, each a line of text, and at least one of them.

    References nested as `[[r1], [r2]]` or `[[r1, r2]]` are refused, never taken for alternatives.
    Raises DataError: lengths that differ (both are named), no lines, or a line that is not text.
    """
    for what, lines in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(lines, str):
            raise DataError(f"{what}: expected a list of lines; got one text; put it in a list")
    if len(hypotheses) != len(references):
        raise DataError(
            f"metrics: expected one hypothesis per reference; "
            f"got {len(hypotheses)} hypotheses and {len(references)} references"
        )
    if not hypotheses:
        raise DataError("metrics: expected at least one line to score; got 0 hypotheses and 0 references")
    for what, lines in (("hypotheses", hypotheses), ("references", references)):
        for number, line in enumerate(lines, 1):
            if not isinstance(line, str):
                hint = "; give the lines as one flat list" if isinstance(line, list | tuple) else ""
                raise DataError(f"{what}: line {number}: expected text; got {type(line).__name__}{hint}")


def warnings_for(hypotheses: Sequence[str], references: Sequence[str]) -> list[str]:
    """One line for each thing that makes the scores of this corpus, of any size, doubtful.

    Raises DataError as `check_lengths` does.
    """
    check_lengths(hypotheses, references)
    found = (_empty(hypotheses, references), _tokenised(hypotheses, references))
    return [warning for warning in found if warning is not None]


def _empty(hypotheses: Sequence[str], references: Sequence[str]) -> str | None:
    """Empty output where text was expected: it is scored like any other, never dropped."""
    pairs = zip(hypotheses, references, strict=True)
    count = sum(1 for hypothesis, reference in pairs if reference.strip() and not hypothesis.strip())
    if not count:
        return None
    return f"{count} of {len(hypotheses)} hypotheses are empty though their references are not"


def _tokenised(hypotheses: Sequence[str], references: Sequence[str]) -> str | None:
    """Punctuation set off by spaces in most hypotheses that have any, and in few references.

    Languages and data that write it so have it on both sides, which raises no alarm.
    """
    count, share = _spaced_lines(hypotheses)
    if share < 0.5 or _spaced_lines(references)[1] > share / 4:
        return None
    return (
        f"{count} of {len(hypotheses)} hypotheses look tokenised (spaces around punctuation) "
        "and the references do not; detokenise them before scoring"
    )


def _spaced_lines(lines: Sequence[str]) -> tuple[int, float]:
    """How many lines hold set-off punctuation, and their share of the lines that hold any."""
    spaced = [_SPACED.search(line) is not None for line in lines]
    punctuated = [has or _ATTACHED.search(line) is not None for has, line in zip(spaced, lines, strict=True)]
    return sum(spaced), sum(spaced) / max(1, sum(punctuated))
