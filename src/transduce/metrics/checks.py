"""What makes the scores of a corpus doubtful, and is worth a warning beside them."""

import re
from collections.abc import Sequence

from transduce.metrics.references import Answers, References, accepted

_MARKS = ".,?!;:،؛؟।。、，？！；："
_SPACED = re.compile(rf"[ \u00a0\u202f][{_MARKS}](?= |$)|(?:^| )[\"'“”‘’„](?= |$)")
_ATTACHED = re.compile(rf"[^ \u00a0\u202f](?:[{_MARKS}]|[\"”])(?= |$)|(?:^| )[\"“„][^ ]")


def warnings_for(hypotheses: Sequence[str], references: References) -> list[str]:
    """One line for each thing that makes the scores of this corpus, of any size, doubtful.

    Raises DataError as `check_lengths` does.
    """
    answers = accepted(hypotheses, references)
    return [*text_warnings(hypotheses, answers), *filter(None, [_square(answers)])]


def text_warnings(hypotheses: Sequence[str], answers: Answers) -> list[str]:
    """Those of `warnings_for` that look at the text, for answers which are known to be nested by line."""
    return [*filter(None, [_empty(hypotheses, answers), _tokenised(hypotheses, answers)])]


def _empty(hypotheses: Sequence[str], answers: Answers) -> str | None:
    """Empty output where text was expected: it is scored like any other, never dropped."""
    pairs = zip(hypotheses, answers, strict=True)
    count = sum(1 for hypothesis, line in pairs if all(map(str.strip, line)) and not hypothesis.strip())
    if not count:
        return None
    return f"{count} of {len(hypotheses)} hypotheses are empty though their references are not"


def _tokenised(hypotheses: Sequence[str], answers: Answers) -> str | None:
    """Punctuation set off by spaces in most hypotheses that have any, and in few references.

    Languages and data that write it so have it on both sides, which raises no alarm.
    """
    count, share = _spaced_lines(hypotheses)
    if share < 0.5 or _spaced_lines([answer for line in answers for answer in line])[1] > share / 4:
        return None
    return (
        f"{count} of {len(hypotheses)} hypotheses look tokenised (spaces around punctuation) "
        "and the references do not; detokenise them before scoring"
    )


def _square(answers: Answers) -> str | None:
    """As many answers in each line as there are lines: which way they are nested cannot be seen."""
    size = len(answers)
    if size == 1 or any(len(line) != size for line in answers):
        return None
    return (
        f"each of the {size} lines has {size} references; if each list of them is a translation "
        "of the whole corpus, turn them with `by_line` first"
    )


def _spaced_lines(lines: Sequence[str]) -> tuple[int, float]:
    """How many lines hold set-off punctuation, and their share of the lines that hold any."""
    spaced = [_SPACED.search(line) is not None for line in lines]
    punctuated = [has or _ATTACHED.search(line) is not None for has, line in zip(spaced, lines, strict=True)]
    return sum(spaced), sum(spaced) / max(1, sum(punctuated))
