"""Training data as batches: encoded once into a cache that is mapped into memory, from any position on."""

import functools
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transduce.data.batch import Batch, pair_batch
from transduce.data.index import Index, Ragged
from transduce.data.limits import Limits, Tally
from transduce.data.pairs import Pair
from transduce.data.prefetch import made_ahead
from transduce.data.sampler import BatchSampler, Rows, Span
from transduce.data.store import IndexWriter, open_index
from transduce.errors import DataError
from transduce.files import TEMPORARY, sync_folder, write_file
from transduce.run.corpus import Corpus, refuse
from transduce.tokenizers import Tokenizer
from transduce.types import UNK

FORMAT = 1
CHUNK = 1 << 20


class TrainingBatches:
    """The batches of each epoch, from any position on: a pure function of (seed, epoch).

    Pairs that `data.max_source_length` or `data.max_target_length` rule out are left out and said. The
    tokenizers that measure them were fitted on all pairs: lengths are not known before. Everything is kept
    in a folder of `cache`, keyed by the contents of all data files and the tokenizers, and made anew only
    where these have changed. Afterwards `corpus.dev` is known.
    """

    def __init__(self, corpus: Corpus, source: Tokenizer, target: Tokenizer, cache: Path) -> None:
        self.corpus, self.tokenizers = corpus, (source, target)
        data = corpus.experiment.data
        self.limits = Limits(data.max_source_length, data.max_target_length)
        self.key = self._key()
        folder = cache / self.key
        if not folder.is_dir():
            self._build(folder)
        facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        corpus.dev = [Pair(*pair) for pair in facts["dev"]]
        self.index, self.spans = open_index(folder), [Span(*span) for span in facts["spans"]]
        self.per_epoch = self._sampler(self.index, self.spans).per_epoch

    def __call__(self, epoch: int, position: int) -> Iterator[Batch]:
        index, spans = self._epoch(epoch)
        settings = self.corpus.experiment
        make = functools.partial(_batch, index, settings.model.source_eos)
        rows = self._sampler(index, spans).batches(epoch, position)
        return made_ahead(make, rows, settings.train.workers)

    def _epoch(self, epoch: int) -> tuple[Index, list[Span]]:
        if not self.corpus.source.fresh:
            return self.index, self.spans
        pairs = [self._encode(row.source, row.target) for row in self.corpus.source.rows(epoch)]
        fit = [pair for pair in pairs if not self.limits.exceeded(*map(len, pair))]
        sides = ([pair[side] for pair in fit] for side in (0, 1))
        return Index(*map(Ragged.of, sides)), [Span(0, len(fit))]

    def _sampler(self, index: Index, spans: list[Span]) -> BatchSampler:
        settings = self.corpus.experiment.train

        def lengths(rows: Rows) -> tuple[Rows, Rows]:
            return index.source.lengths_of(rows), index.target.lengths_of(rows)

        return BatchSampler(
            spans,
            lengths,
            pairs=settings.batch_pairs,
            tokens=settings.batch_tokens,
            seed=self.corpus.experiment.seed,
        )

    def _encode(self, source: str, target: str) -> tuple[list[int], list[int]]:
        return self.tokenizers[0].encode(source).ids, self.tokenizers[1].encode(target).ids

    def _key(self) -> str:
        """A name for everything that the cache depends on."""
        experiment, corpus = self.corpus.experiment, self.corpus
        digest = hashlib.blake2b(digest_size=16)
        for source in (corpus.source, corpus.dev_source, corpus.test_source):
            for file in source.files if source else ():
                digest.update(contents(file).encode())
            digest.update(b"|")
        states = [tokenizer.state() for tokenizer in self.tokenizers]
        facts = [FORMAT, experiment.data.model_dump(), experiment.seed, states]
        digest.update(json.dumps(facts, sort_keys=True).encode())
        return digest.hexdigest()

    def _build(self, folder: Path) -> None:
        """Encodes everything beside `folder`, then renames it into place; older caches go."""
        self.corpus.survey()
        if folder.parent.is_dir():
            self.corpus.say("the data have changed since this run began: its vocabularies are kept")
        shutil.rmtree(folder.parent, ignore_errors=True)
        temporary = folder.with_name(TEMPORARY + folder.name)
        temporary.mkdir(parents=True)
        spans = self._write(temporary)
        facts: dict[str, Any] = {"format": FORMAT, "spans": spans, "dev": self.corpus.dev}
        write_file(temporary / "facts.json", json.dumps(facts, ensure_ascii=False).encode())
        os.replace(temporary, folder)
        sync_folder(folder.parent)

    def _write(self, folder: Path) -> list[Span]:
        """Writes the index of all members, one after the other; says what was left out or is unknown."""
        tally, unknown, spans = Tally(self.limits), Unknown(), []
        with IndexWriter(folder) as writer:
            for source, weight in self.corpus.source.members():
                start = tally.seen - tally.over
                for row in self.corpus.rows(source):
                    sides = self._encode(row.source, row.target)
                    if tally.admits(row.line, *map(len, sides)):
                        writer.add(*sides)
                        unknown.count(*sides)
                spans.append(Span(start, tally.seen - tally.over - start, weight))
        if report := tally.report():
            (refuse if self.corpus.experiment.data.strict else self.corpus.say)(f"data.train: {report}")
        if tally.seen == tally.over:
            raise DataError(f"data.train: expected at least one pair within {self.limits}; got none")
        for line in unknown.lines():
            self.corpus.say(line)
        return spans


class Unknown:
    """Counts tokens that have no id."""

    def __init__(self) -> None:
        self.tokens, self.unknown = {"source": 0, "target": 0}, {"source": 0, "target": 0}

    def count(self, source: list[int], target: list[int]) -> None:
        for side, ids in (("source", source), ("target", target)):
            self.tokens[side] += len(ids)
            self.unknown[side] += ids.count(UNK)

    def lines(self) -> Iterator[str]:
        for side, unknown in self.unknown.items():
            if unknown:
                share = f"{unknown:,} of {self.tokens[side]:,} {side} tokens"
                yield f"{share} to train on are not in the vocabulary"


def _batch(index: Index, source_eos: bool, rows: Rows) -> Batch:
    return pair_batch(index, rows.tolist(), source_eos=source_eos)


def contents(file: str) -> str:
    """A digest of a file's bytes."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        with open(file, "rb") as opened:
            while chunk := opened.read(CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise DataError(f"{file}: cannot be read; {error.strerror or error}") from None
    return digest.hexdigest()
