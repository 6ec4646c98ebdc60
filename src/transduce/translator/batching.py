"""Whether a model's outputs depend on what is decoded beside them: they must not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from transduce.errors import ConfigError, DataError
from transduce.search import Search
from transduce.translation import Translation
from transduce.translator.translator import Translator

BATCH_SIZES = (7, 64)
PER_TOKEN = 1e-5  # float32 sums differ with the shapes of batches by as much, and no more
TIE = 1e-4  # outputs whose scores are nearer than this may change places


class Difference(NamedTuple):
    """A line that came out otherwise in batches of this size than alone; `gap` is of scores."""

    line: int  # from 1
    batch_size: int
    alone: str
    batched: str
    gap: float

    def __str__(self) -> str:
        outputs = f"{self.alone!r} alone, {self.batched!r} in batches of {self.batch_size}"
        return f"line {self.line}: {outputs}; scores differ by {self.gap:.2g}"


@dataclass(frozen=True)
class BatchingReport:
    """What was found. `largest` is the greatest difference of a score, per token, between equal texts."""

    lines: int
    batch_sizes: Sequence[int]
    largest: float
    ties: list[Difference]
    faults: list[Difference]

    @property
    def passed(self) -> bool:
        return not self.faults

    def remarks(self) -> Iterator[str]:
        """The report as lines of text, the verdict first."""
        return remarks(self.plain())

    def plain(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        listed = {
            name: [difference._asdict() for difference in found]
            for name, found in (("ties", self.ties), ("faults", self.faults))
        }
        sizes = {"lines": self.lines, "batch_sizes": list(self.batch_sizes)}
        return {"passed": self.passed, **sizes, "largest_difference_per_token": self.largest, **listed}


def remarks(report: Mapping[str, Any]) -> Iterator[str]:
    """The plain values of a report as lines of text, the verdict first."""
    verdict = "does not depend" if report["passed"] else "DEPENDS"
    sizes, largest = ", ".join(map(str, report["batch_sizes"])), report["largest_difference_per_token"]
    yield (
        f"output {verdict} on the batch: {report['lines']} lines alone and in batches of {sizes}; scores "
        f"differ by {largest:.2g} a token or less, {len(report['ties'])} ties, {len(report['faults'])} faults"
    )
    for name in ("tie", "fault"):
        yield from (f"{name}: {Difference(**found)}" for found in report[f"{name}s"])


def check_batching(
    translator: Translator,
    texts: Sequence[str],
    *,
    search: Search | None = None,
    batch_sizes: Sequence[int] = BATCH_SIZES,
) -> BatchingReport:
    """Decodes texts one by one and in batches, and compares.

    Equal outputs must have scores within 1e-5 a token. Different outputs are ties where their scores are
    within 1e-4, and faults where not. Raises ConfigError for a search that draws, DataError for no texts.
    """
    search = search or translator.searcher()
    if search.independent:
        raise ConfigError(
            f"check of batching: expected a search for the likeliest output; got search {search.name!r}"
        )
    if not texts:
        raise DataError("check of batching: expected at least one text; got none")
    alone = list(translator.stream(texts, search=search, batch_size=1))
    largest, ties, faults = 0.0, [], []
    for size in batch_sizes:
        batched = translator.stream(texts, search=search, batch_size=size)
        for line, (one, other) in enumerate(zip(alone, batched, strict=True), 1):
            found = Difference(line, size, one.text, other.text, abs(one.score - other.score))
            if one.tokens == other.tokens:
                apart = per_token(one, other)
                largest = max(largest, apart)
                faults += [found] * (apart > PER_TOKEN)
            else:
                (ties if found.gap <= TIE else faults).append(found)
    return BatchingReport(len(texts), batch_sizes, largest, ties, faults)


def per_token(one: Translation, other: Translation) -> float:
    return abs(one.log_prob - other.log_prob) / max(len(one.tokens), 1)
