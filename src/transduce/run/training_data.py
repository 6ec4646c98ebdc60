"""Training data as batches: encoded once into a cache that is mapped into memory, from any position on."""

import contextlib
import functools
import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from transduce.data.alignments import alignment_matrix
from transduce.data.batch import Batch, batch_of
from transduce.data.curriculum import Course
from transduce.data.index import Index, Ragged
from transduce.data.limits import Admission, Limits
from transduce.data.pairs import Pair, Row
from transduce.data.prefetch import made_ahead
from transduce.data.sampler import BatchSampler, Rows, Span
from transduce.data.segmentations import Segmentations
from transduce.data.store import IndexWriter, RaggedWriter, open_index, open_ragged
from transduce.errors import CheckpointError, ConfigError, DataError
from transduce.files import TEMPORARY, sync_folder, write_file
from transduce.run.aligned_rows import AlignedRows
from transduce.run.corpus import Corpus, refuse
from transduce.tokenizers import Tokenizer
from transduce.types import UNK

FORMAT = 2
LINKS = "links"  # beside the two sides: which tokens alignments join
CHUNK = 1 << 20


class TrainingBatches:
    """The batches of each epoch, from any position on: a pure function of (seed, epoch).

    Where tokenizers draw segmentations, batches are cut and limits kept by the lengths of those that
    `encode` gives.

    Pairs that `data.max_source_length` or `data.max_target_length` rule out are left out and said. The
    tokenizers that measure them were fitted on all pairs: lengths are not known before. Everything is kept
    in a folder of `cache`, keyed by the contents of all data files and the tokenizers, and made anew only
    where these have changed. Afterwards `corpus.dev` is known.
    """

    def __init__(self, corpus: Corpus, source: Tokenizer, target: Tokenizer, cache: Path) -> None:
        self.corpus, self.tokenizers = corpus, (source, target)
        data, seed = corpus.experiment.data, corpus.experiment.seed
        check_alignments(corpus, source, target)
        self.segmentations = Segmentations(source, seed, "source"), Segmentations(target, seed, "target")
        self.limits = Limits(data.max_source_length, data.max_target_length)
        self.digest = self._digest()
        self.key = self._key()
        folder = cache / self.key
        made = self._kept(folder) or self._build(folder)
        corpus.dev, self.index, self.spans = made.dev, made.pairs, made.spans
        self.links = None if data.alignments is None else made.links
        curriculum, accumulate = corpus.experiment.train.curriculum, corpus.experiment.train.accumulate
        self.course = curriculum and Course(curriculum, made.lengths, accumulate)
        self.per_epoch = self._sampler(self.index, self.spans).per_epoch

    def __call__(self, epoch: int, position: int) -> Iterator[Batch]:
        index, spans = self._epoch(epoch)
        settings = self.corpus.experiment
        make = functools.partial(self._batch, index, epoch)
        rows = self._sampler(index, spans).batches(epoch, position)
        return made_ahead(make, rows, settings.train.workers)

    def _batch(self, index: Index, epoch: int, chosen: Rows) -> Batch:
        rows = chosen.tolist()
        source, target = (
            of.of(side, rows, epoch) for of, side in zip(self.segmentations, index, strict=True)
        )
        batch = batch_of(source, target, source_eos=self.corpus.experiment.model.source_eos)
        if self.links is None:
            return batch
        widths = batch.target.shape[1], batch.source.tokens.shape[1]
        return batch._replace(alignment=alignment_matrix(self.links, rows, *widths))

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
            course=self.course,
        )

    def _encode(self, source: str, target: str) -> tuple[list[int], list[int]]:
        return self.tokenizers[0].encode(source).ids, self.tokenizers[1].encode(target).ids

    def _digest(self) -> str:
        """A digest of all data files."""
        corpus, digest = self.corpus, hashlib.blake2b(digest_size=16)
        for source in (corpus.source, corpus.dev_source, corpus.test_source):
            for file in source.files if source else ():
                digest.update(contents(file).encode())
            digest.update(b"|")
        alignments = corpus.experiment.data.alignments
        if alignments is not None:
            digest.update(contents(alignments).encode())
        return digest.hexdigest()

    def _key(self) -> str:
        """A name for everything that the cache depends on."""
        experiment, states = self.corpus.experiment, [tokenizer.state() for tokenizer in self.tokenizers]
        facts = [FORMAT, self.digest, experiment.data.model_dump(), experiment.seed, states]
        content = json.dumps(facts, sort_keys=True).encode()
        return hashlib.blake2b(content, digest_size=16).hexdigest()

    def _kept(self, folder: Path) -> "Encoded | None":
        """What an earlier sitting left, if it is whole."""
        if not folder.is_dir():
            return None
        try:
            return open_encoded(folder)
        except CheckpointError as error:
            self.corpus.say(f"{error}; the training data are encoded anew")
            return None

    def _build(self, folder: Path) -> "Encoded":
        """Encodes everything beside `folder`, then renames it into place; older caches go."""
        self.corpus.survey()
        shutil.rmtree(folder.parent, ignore_errors=True)
        temporary = folder.with_name(TEMPORARY + folder.name)
        temporary.mkdir(parents=True)
        try:
            facts: dict[str, Any] = {"format": FORMAT, "dev": self.corpus.dev, **self._write(temporary)}
            write_file(temporary / "facts.json", json.dumps(facts, ensure_ascii=False).encode())
            os.replace(temporary, folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)  # what is half written would keep a full disk full
        sync_folder(folder.parent)
        return open_encoded(folder)

    def _write(self, folder: Path) -> dict[str, Any]:
        """Writes the pairs of all members, one after the other; says what was left out or is unknown.

        Returns where each member's pairs stand, and how many pairs have each length, both sides together.
        """
        data, spans = self.corpus.experiment.data, []
        writer = PairWriter(folder, self.tokenizers, self.limits)
        aligned = AlignedRows(data.alignments, self.corpus.source.files)
        with contextlib.closing(writer):
            for member in self.corpus.source.members():
                start = writer.written
                for row, line in aligned.beside(member.source.rows()):
                    if self.corpus.trains_on(row):
                        writer.add(row, line, aligned)
                spans.append(Span(start, writer.written - start, member.weight))
        aligned.end()
        if report := writer.admission.report():
            (refuse if data.strict else self.corpus.say)(f"data.train: {report}")
        if not writer.written:
            raise DataError(f"data.train: expected at least one pair within {self.limits}; got none")
        for line in writer.unknown.lines():
            self.corpus.say(line)
        return {"spans": spans, "lengths": sorted(writer.lengths.items())}


class Encoded(NamedTuple):
    """What a cache holds."""

    dev: list[Pair]
    pairs: Index
    links: Ragged
    spans: list[Span]
    lengths: dict[int, int]  # how many pairs have each length


def open_encoded(folder: Path) -> Encoded:
    """Opens a cache. Raises CheckpointError where it is not whole."""
    path = folder / "facts.json"
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        dev, spans = [Pair(*pair) for pair in facts["dev"]], [Span(*span) for span in facts["spans"]]
        lengths = dict(facts["lengths"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: damaged; {error!r}") from None
    index, links = open_index(folder), open_ragged(folder, LINKS)
    found = {len(index), len(links.starts) - 1, sum(span.pairs for span in spans)}
    if len(found) > 1:
        raise CheckpointError(f"{folder}: damaged; its files hold {sorted(found)} pairs")
    return Encoded(dev, index, links, spans, lengths)


class PairWriter:
    """Encodes pairs and writes those within the limits; counts what it sees."""

    def __init__(self, folder: Path, tokenizers: tuple[Tokenizer, Tokenizer], limits: Limits) -> None:
        self.tokenizers, self.admission, self.unknown = tokenizers, Admission(limits), Unknown()
        self.pairs, self.links = IndexWriter(folder), RaggedWriter(folder, LINKS)
        self.lengths, self.written = Counter[int](), 0

    def add(self, row: Row, line: str | None, aligned: AlignedRows) -> None:
        """One row to train on, and its line of alignments."""
        source, target = self.tokenizers[0].encode(row.source), self.tokenizers[1].encode(row.target)
        if not self.admission.admits(row.line, len(source.ids), len(target.ids)):
            return
        self.pairs.add(source.ids, target.ids)
        self.links.add([] if line is None else aligned.links(row, line, source, target))
        self.unknown.count(source.ids, target.ids)
        self.lengths[len(source.ids) + len(target.ids)] += 1
        self.written += 1

    def close(self) -> None:
        self.pairs.close()
        self.links.close()


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


def check_alignments(corpus: Corpus, source: Tokenizer, target: Tokenizer) -> None:
    """Refuses alignments of what changes from epoch to epoch. Raises ConfigError naming both options."""
    path = corpus.experiment.data.alignments
    changing = [
        f"tokenizer.{side} {tokenizer.name} ({', '.join(tokenizer.training_only)}), which draws other tokens"
        for side, tokenizer in (("source", source), ("target", target))
        if tokenizer.sampler is not None
    ]
    if corpus.source.fresh:
        changing.append("data.train.fresh: true, which makes other pairs")
    if path is not None and changing:
        raise ConfigError(f"data.alignments: {path} cannot go with {changing[0]} in each epoch")


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
