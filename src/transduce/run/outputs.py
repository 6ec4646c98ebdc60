"""What evaluation looks at: the outputs of one system, and what they are scored against."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from transduce.config import Spec
from transduce.data.lines import read_lines
from transduce.data.pairs import Pair
from transduce.errors import DataError
from transduce.metrics import Metric, Score, by_line, check_lengths, measure, split_words
from transduce.metrics.base import Split
from transduce.metrics.first_position import FirstPosition
from transduce.metrics.references import Answers
from transduce.search import Search
from transduce.tokenizers import Tokenizer
from transduce.translator import Translator

Item = TypeVar("Item")

Names = Sequence[str | Spec[Metric]] | None  # of metrics; None: all


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """One output a line, its accepted answers, and its source where that is known.

    `lines` are their numbers in the file; `tokenize` splits a target text, `lengths` counts the tokens of
    each source.
    """

    hypotheses: list[str]
    answers: Answers
    lines: Sequence[int]
    tokenize: Split = split_words
    sources: list[str] | None = None
    lengths: list[int] | None = None

    def measure(self, names: Names = None) -> dict[str, Score]:
        """The corpus scores."""
        return measure(names, self.hypotheses, self.answers, self.tokenize)


@dataclass(frozen=True, kw_only=True)
class ModelOutputs(Outputs):
    """Outputs that a search found, their length-normalised scores, and where an attending model looked."""

    scores: list[float]
    finished: list[bool]
    attention: dict[str, Any] | None


def read_outputs(hypotheses: str, references: Sequence[str], sources: str | None = None) -> Outputs:
    """Outputs from text files, line by line; several files of references give several answers a line.

    Raises DataError for files that differ in length.
    """
    lines = list(read_lines(hypotheses))
    streams = [beside(lines, file, "reference") for file in references]
    for stream in streams:
        check_lengths(lines, stream)
    read = None if sources is None else beside(lines, sources, "source")
    lengths = None if read is None else [len(split_words(line)) for line in read]
    numbers = range(1, len(lines) + 1)
    return Outputs(hypotheses=lines, answers=by_line(streams), lines=numbers, sources=read, lengths=lengths)


def beside(hypotheses: Sequence[str], file: str, what: str) -> list[str]:
    """The lines of a file, one for each hypothesis. Raises DataError naming a file of another length."""
    lines = list(read_lines(file))
    if len(lines) != len(hypotheses):
        raise DataError(
            f"{file}: expected a {what} for each of the {len(hypotheses)} hypotheses; got {len(lines)}"
        )
    return lines


class Stopped(Exception):
    """There was a wish to stop, and the rest has not been looked at."""


def until(stop: Callable[[], bool], items: Iterable[Item]) -> Iterator[Item]:
    """The items, before each of which it is asked whether to stop. Raises Stopped."""
    for item in items:
        if stop():
            raise Stopped
        yield item


def never() -> bool:
    return False


def decode_pairs(
    translator: Translator,
    pairs: Sequence[Pair],
    search: Search,
    *,
    batch_size: int = 64,
    attention: bool = False,
    lines: Sequence[int] | None = None,
    stop: Callable[[], bool] = never,
) -> ModelOutputs:
    """Decodes the sources of some pairs, whose targets are the answers; `lines` number them, else 1, 2, …

    Raises Stopped where `stop` says so before the last are decoded.
    """
    sources, first = [pair.source for pair in pairs], FirstPosition()
    texts, scores, finished = [], [], []
    asking = until(stop, sources)
    for result in translator.stream(asking, search=search, batch_size=batch_size, attention=attention):
        texts.append(result.text)
        scores.append(normalised(search, result.log_prob, len(result.tokens)))
        finished.append(result.finished)
        if result.attention is not None:  # looked at and let go: a corpus of it would fill the memory
            first.add(result.attention)
    return ModelOutputs(
        hypotheses=texts,
        lines=range(1, len(pairs) + 1) if lines is None else lines,
        answers=[(text,) for text in normal_targets(translator.target_tokenizer, pairs)],
        tokenize=splitter(translator.target_tokenizer),
        sources=sources,
        lengths=[len(translator.source_tokenizer.encode(source).ids) for source in sources],
        scores=scores,
        finished=finished,
        attention=first.plain() if attention else None,
    )


def normalised(search: Search, log_prob: float, length: int) -> float:
    """A log-probability over the divisor of the search's length penalty, for so many tokens."""
    return log_prob / float(search.length_penalty.divisor(float(max(1, length))))


def normal_targets(tokenizer: Tokenizer, pairs: Iterable[Pair]) -> list[str]:
    """The targets in the form that decoding can give."""
    return [tokenizer.normalise(pair.target) for pair in pairs]


def normalised_references(translator: Translator, pairs: Sequence[Pair]) -> dict[str, Any]:
    """How many targets are scored in another form than they stand in, and which; nothing where none is."""
    normal = normal_targets(translator.target_tokenizer, pairs)
    count = sum(text != pair.target for text, pair in zip(normal, pairs, strict=True))
    form = translator.experiment.tokenizer.target.options.get("normal_form", "none")
    return {"count": count, "form": "white space" if form == "none" else form} if count else {}


def splitter(tokenizer: Tokenizer) -> Split:
    """The tokenizer's splitting of a text, as metrics use it."""

    def split(text: str) -> list[str]:
        return [text[start:end] for start, end in tokenizer.encode(text).offsets]

    return split
