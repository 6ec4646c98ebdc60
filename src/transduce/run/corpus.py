"""The data of a run: read, reported on, fitted to tokenizers, and held out of. Never all in memory."""

import functools
import hashlib
import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from transduce.config import Spec
from transduce.data.lines import is_blank
from transduce.data.pairs import (
    MAX_LISTED,
    Pair,
    Pairs,
    PairSource,
    Part,
    Row,
    format_of,
    joined,
    key_of,
    listed,
)
from transduce.data.tally import Tally
from transduce.errors import DataError
from transduce.experiment import Experiment
from transduce.tokenizers import Tokenizer

Say = Callable[[str], None]
Key = Callable[[str], str]  # one text for all that are read alike
HELD_OUT = 0.1  # of the training sources, where an experiment names no dev data
MOST_HELD_OUT = 1000


class Corpus:
    """Training and dev pairs of an experiment. Raises DataError for what cannot be trained on.

    Training pairs are read again each time they are needed; `survey` does so to find what to report, and,
    where no dev data is named, which sources to hold out for it.
    """

    def __init__(self, experiment: Experiment, say: Say) -> None:
        self.experiment, self.say = experiment, say
        self.doubt = refuse if experiment.data.strict else say
        self.source = require(experiment, "train")
        self.dev_source = experiment.data.source("dev", experiment.seed)
        self.test_source = experiment.data.source("test", experiment.seed)
        self.keys = keys_for(experiment.tokenizer.source), keys_for(experiment.tokenizer.target)
        self.held_out = HeldOut(experiment.seed, key=self.keys[0])
        self.dev: list[Pair] = []
        self.surveyed = False

    def survey(self) -> None:
        """Reads everything, the first time: dev pairs are known, and all that is odd has been said."""
        if not self.surveyed:
            self.surveyed = True
            self._survey()

    def _survey(self) -> None:
        known, empty = Known(self._read_scored(), self.keys), True
        sources = SmallestSources(self.experiment.seed, self.keys[0])
        for row in self._whole_rows():
            empty = False
            known.meet(row)
            if self.dev_source is None:
                sources.add(row.source)
        if empty:
            raise nothing("data.train")
        if self.dev_source is None:
            self._hold_out(sources)
        if leaks := known.report():
            self.doubt(f"{leaks} also in train: scores on them are too good")

    def _whole_rows(self) -> Iterator[Row]:
        """The training rows with text on both sides; says after each corpus what was skipped of it."""
        for source, where in corpora(self.source, "data.train"):
            blank, count = Tally(MAX_LISTED + 1), 0
            for row in source.rows():
                count += 1
                if is_whole(row):
                    yield row
                else:
                    blank.add([row.line])
            if blank.count:
                skipped = f"skipped {blank.count} of {count} pairs with a blank side ({listed(blank.lines)})"
                self.doubt(f"{where}: {skipped}")

    def _read_scored(self) -> dict[str, list[Pair]]:
        """The pairs of dev and test that the experiment names."""
        parts = {}
        if self.dev_source is not None:
            parts["dev"] = self.dev = read(self.dev_source, "data.dev", self.doubt).pairs
        if self.test_source is not None:
            parts["test"] = read(self.test_source, "data.test", self.doubt).pairs
        return parts

    def _hold_out(self, sources: "SmallestSources") -> None:
        self.held_out = sources.held_out()
        rows = self.source.rows()
        self.dev = [
            Pair(row.source, row.target) for row in rows if row.source in self.held_out and is_whole(row)
        ]
        self.say(f"no dev data given: {len(self.dev)} training pairs are held out for it")

    def rows(self, source: PairSource | None = None) -> Iterator[Row]:
        """The rows to train on, of the whole corpus or of one of its members."""
        return filter(self.trains_on, (source or self.source).rows())

    def trains_on(self, row: Row) -> bool:
        """Whether a row of the training data is trained on: it is whole, and not held out."""
        return is_whole(row) and row.source not in self.held_out

    def texts(self, *sides: Literal["source", "target"]) -> Iterator[str]:
        """The texts to train on, of one side or of both."""
        return (getattr(row, side) for row in self.rows() for side in sides)

    def fit_tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Tokenizers fitted on the training part alone."""
        self.survey()
        settings = self.experiment.tokenizer
        source, target = settings.source.build(), settings.target.build()
        if settings.shared:
            source.fit(self.texts("source", "target"))
            return source, source
        source.fit(self.texts("source"))
        target.fit(self.texts("target"))
        return source, target


def is_whole(row: Row) -> bool:
    """Whether a row has text on both sides."""
    return not (is_blank(row.source) or is_blank(row.target))


def keys_for(tokenizer: Spec[Tokenizer]) -> Key:
    """`key_of` in the form that the tokenizer reads, where that makes more texts alike than NFC."""
    compatible = tokenizer.options.get("normal_form") in ("nfkc", "nfkd")
    return functools.partial(key_of, form="NFKC" if compatible else "NFC")


class HeldOut:
    """The sources kept for dev: those whose key's hash, keyed by the seed, is at most a threshold."""

    def __init__(self, seed: int, threshold: int = -1, *, key: Key = str) -> None:
        self.secret, self.threshold, self.key = seed.to_bytes(8, "little"), threshold, key

    def hash(self, source: str) -> int:
        text = self.key(source).encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=8, key=self.secret).digest(), "big")

    def __contains__(self, source: str) -> bool:
        return self.threshold >= 0 and self.hash(source) <= self.threshold


class SmallestSources:
    """The sources with the smallest hashes of all that pass, as many as may ever be held out."""

    most = int(MOST_HELD_OUT / HELD_OUT)  # with more different sources, their number no longer matters

    def __init__(self, seed: int, key: Key = str) -> None:
        self.seed, self.key, self.hash = seed, key, HeldOut(seed, key=key).hash
        self.heap: list[int] = []  # of negated hashes, the greatest hash first
        self.known: set[int] = set()

    def add(self, source: str) -> None:
        value = self.hash(source)
        if value in self.known or (len(self.heap) == self.most and value > -self.heap[0]):
            return
        self.known.add(value)
        if len(self.heap) < self.most:
            heapq.heappush(self.heap, -value)
        else:
            self.known.discard(-heapq.heappushpop(self.heap, -value))

    def held_out(self) -> HeldOut:
        """A tenth of the different sources, and no more than a thousand."""
        count = int(len(self.heap) * HELD_OUT)
        if count < 1:
            raise DataError(
                f"data: expected dev data, or at least 10 sources to hold some out; got {len(self.heap)}"
            )
        return HeldOut(self.seed, sorted(-value for value in self.heap)[count - 1], key=self.key)


class Known:
    """The pairs that will be scored, and which of them are met among those to train on, all by their keys."""

    def __init__(self, parts: dict[str, list[Pair]], keys: tuple[Key, Key]) -> None:
        self.keys = keys
        self.parts = {part: [self._key(*pair) for pair in pairs] for part, pairs in parts.items()}
        self.unmet = {pair for pairs in self.parts.values() for pair in pairs}
        self.unmet_sources = {pair.source for pair in self.unmet}
        self.pairs: set[Pair] = set()
        self.sources: set[str] = set()

    def _key(self, source: str, target: str) -> Pair:
        return Pair(self.keys[0](source), self.keys[1](target))

    def meet(self, row: Row) -> None:
        pair = self._key(row.source, row.target)
        if pair.source not in self.unmet_sources:
            return
        self.sources.add(pair.source)
        if pair in self.unmet:
            self.pairs.add(pair)

    def report(self) -> str | None:
        """How many pairs, and how many sources if more, of each part are trained on; None for none."""
        return "; ".join(filter(None, (self._part(*part) for part in self.parts.items()))) or None

    def _part(self, part: str, scored: Sequence[Pair]) -> str | None:
        pairs, same = (
            sum(pair in self.pairs for pair in scored),
            sum(pair.source in self.sources for pair in scored),
        )
        more = f" ({same} of {len(scored)} sources)" if same > pairs else ""
        return f"{part}: {pairs} of {len(scored)} pairs{more}" if same else None


def refuse(line: str) -> None:
    """What is said otherwise is an error under `data.strict`."""
    raise DataError(f"{line} (data.strict is on)")


def nothing(where: str) -> DataError:
    return DataError(f"{where}: expected at least one pair with text on both sides; got none")


def require(experiment: Experiment, part: Part) -> PairSource:
    source = experiment.data.source(part, experiment.seed)
    if source is None:
        raise DataError(f"data.{part}: expected data; this experiment names none; give a file")
    return source


def read(source: PairSource, where: str, say: Say) -> Pairs:
    """All pairs of one part; says what was skipped, refuses a part without any."""
    read = []
    for corpus, name in corpora(source, where):
        read.append(corpus.read())
        if report := read[-1].report(name):
            say(report)
    pairs = joined(read)
    if not pairs.pairs:
        raise nothing(where)
    return pairs


def corpora(source: PairSource, where: str) -> Iterator[tuple[PairSource, str]]:
    """What a source is made of, each as messages call it: by its files where there are several."""
    members = source.members()
    for member in members:
        yield member.source, f"{where}: {', '.join(member.source.files)}" if len(members) > 1 else where


def with_columns(experiment: Experiment, path: str) -> Experiment:
    """The experiment with a file, or standard input, as its test data."""
    spec = Spec(PairSource, format_of(path), {"path": path})
    data = experiment.data.model_copy(update={"test": spec})
    return experiment.model_copy(update={"data": data})
