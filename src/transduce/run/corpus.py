"""The data of a run: read, reported on, fitted to tokenizers, and given out in batches."""

import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from transduce.config import Spec
from transduce.data.batch import Batch, pair_batch
from transduce.data.index import Index, encode_pairs
from transduce.data.pairs import Pair, Pairs, PairSource, Part
from transduce.data.sampler import BatchSampler
from transduce.errors import DataError
from transduce.experiment import Experiment
from transduce.tokenizers import Tokenizer
from transduce.types import UNK

Say = Callable[[str], None]
HELD_OUT = 0.1  # of the training sources, where an experiment names no dev data
MOST_HELD_OUT = 1000


class Corpus:
    """Training and dev pairs of an experiment. Raises DataError for what cannot be trained on."""

    def __init__(self, experiment: Experiment, say: Say) -> None:
        self.experiment = experiment
        doubt = refuse if experiment.data.strict else say
        self.source = require(experiment, "train")
        train = read(self.source, "data.train", doubt)
        dev, test = (experiment.data.source(part, experiment.seed) for part in ("dev", "test"))
        if dev is None:
            self.train, self.dev = hold_out(train.pairs, experiment.seed)
            say(f"no dev data given: {len(self.dev)} training pairs are held out for it")
        else:
            self.train, self.dev = train.pairs, read(dev, "data.dev", doubt).pairs
        parts = {"dev": self.dev} if test is None else {"dev": self.dev, "test": test.read().pairs}
        if leaks := [leak for part, pairs in parts.items() if (leak := shared(self.train, pairs, part))]:
            doubt("; ".join(leaks) + " also in train: scores on them are too good")

    def fit_tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Tokenizers fitted on the training part alone."""
        settings = self.experiment.tokenizer
        source, target = settings.source.build(), settings.target.build()
        if settings.shared:
            source.fit(text for pair in self.train for text in pair)
            return source, source
        source.fit(pair.source for pair in self.train)
        target.fit(pair.target for pair in self.train)
        return source, target


def refuse(line: str) -> None:
    """What is said otherwise is an error under `data.strict`."""
    raise DataError(f"{line} (data.strict is on)")


def shared(train: Sequence[Pair], others: Sequence[Pair], part: str) -> str | None:
    """How many pairs, and how many sources if more, of a part are trained on; None for none."""
    known, sources = set(train), {pair.source for pair in train}
    pairs = sum(pair in known for pair in others)
    same = sum(pair.source in sources for pair in others)
    if not same:
        return None
    more = f" ({same} of {len(others)} sources)" if same > pairs else ""
    return f"{part}: {pairs} of {len(others)} pairs{more}"


def require(experiment: Experiment, part: Part) -> PairSource:
    source = experiment.data.source(part, experiment.seed)
    if source is None:
        raise DataError(f"data.{part}: expected data; this experiment names none; give a file")
    return source


def read(source: PairSource, where: str, say: Say) -> Pairs:
    """All pairs of one part; says what was skipped, refuses a part without any."""
    pairs = source.read()
    if report := pairs.report(where):
        say(report)
    if not pairs.pairs:
        raise DataError(f"{where}: expected at least one pair with text on both sides; got none")
    return pairs


def hold_out(pairs: list[Pair], seed: int) -> tuple[list[Pair], list[Pair]]:
    """Parts off dev pairs by source, so that no dev source is trained on."""
    sources = list(dict.fromkeys(pair.source for pair in pairs))
    count = min(MOST_HELD_OUT, int(len(sources) * HELD_OUT))
    if count < 1:
        raise DataError(
            f"data: expected dev data, or at least 10 sources to hold some out; got {len(sources)}"
        )
    chosen = set(random.Random(seed).sample(sources, count))
    return [p for p in pairs if p.source not in chosen], [p for p in pairs if p.source in chosen]


class TrainingBatches:
    """The batches of each epoch, from any position on: a pure function of (seed, epoch)."""

    def __init__(self, corpus: Corpus, source: Tokenizer, target: Tokenizer, say: Say) -> None:
        self.corpus, self.tokenizers = corpus, (source, target)
        self.index = encode_pairs(corpus.train, source, target)
        for side, ids in (("source", self.index.source.ids), ("target", self.index.target.ids)):
            if unknown := np.count_nonzero(ids == UNK):
                say(f"{unknown:,} of {len(ids):,} {side} tokens to train on are not in the vocabulary")
        self.per_epoch = len(self._sampler(self.index).epoch(0))

    def __call__(self, epoch: int, position: int) -> Iterator[Batch]:
        index = self._index(epoch)
        for rows in self._sampler(index).epoch(epoch)[position:]:
            yield pair_batch(index, rows.tolist(), source_eos=self.corpus.experiment.model.source_eos)

    def _index(self, epoch: int) -> Index:
        if not self.corpus.source.fresh:
            return self.index
        return encode_pairs(self.corpus.source.read(epoch).pairs, *self.tokenizers)

    def _sampler(self, index: Index) -> BatchSampler:
        settings = self.corpus.experiment.train
        return BatchSampler(
            index.source.lengths,
            index.target.lengths,
            pairs=settings.batch_pairs,
            tokens=settings.batch_tokens,
            seed=self.corpus.experiment.seed,
        )


def with_columns(experiment: Experiment, path: str) -> Experiment:
    """The experiment with a TSV file as its test data."""
    data = experiment.data.model_copy(update={"test": Spec(PairSource, "tsv", {"path": path})})
    return experiment.model_copy(update={"data": data})
