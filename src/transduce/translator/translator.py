"""The translator: a model with its tokenizers."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, cast, overload

import numpy as np
import torch

from transduce.config import Settings, Spec, dump_yaml, merge, options_model, validate
from transduce.data.batch import Batch, pair_batch
from transduce.data.index import Index, encode_pairs
from transduce.data.pairs import Pair, is_blank
from transduce.devices import choose_device, settle_threads
from transduce.ensemble import Ensemble
from transduce.errors import CheckpointError, ConfigError, DataError
from transduce.experiment import Experiment, load_experiment
from transduce.files import write_file
from transduce.metrics.alignment import Link
from transduce.model import Seq2Seq
from transduce.search import Search
from transduce.tokenizers import Encoding, Tokenizer, load_tokenizer
from transduce.trace import Trace
from transduce.training.checkpoint import load_model, save_model
from transduce.training.distributed import ALONE
from transduce.translation import Translation
from transduce.translator.batches import Untranslatable, Wanted, translate_batch
from transduce.translator.lines import Line, count, numbered
from transduce.translator.links import word_links
from transduce.translator.notes import Notes
from transduce.translator.readers import Reader
from transduce.translator.unknown import Dictionary
from transduce.types import move

WINDOW = 16  # batches read ahead and sorted by length


class SearchSettings(Settings):
    """What may be chosen anew at each translation."""

    search: Spec[Search]


class Translator:
    """A trained model, or an ensemble of several, with its tokenizers and its configuration.

    `others` read texts for those members of an ensemble that have other source tokenizers.
    """

    def __init__(
        self,
        experiment: Experiment,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        model: Seq2Seq | Ensemble,
        others: Sequence[Reader] = (),
    ) -> None:
        self.experiment, self.model, self.others = experiment, model, others
        self.source_tokenizer, self.target_tokenizer = source_tokenizer, target_tokenizer
        self.notes = Notes()
        self.team = ALONE

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> "Translator":
        """Reads a run folder. Raises CheckpointError or ConfigError naming the file at fault."""
        folder = Path(folder)
        if not (folder / "config.yaml").is_file():
            raise CheckpointError(f"{folder}: expected a run folder; it has no config.yaml")
        experiment = load_experiment(str(folder / "config.yaml"))
        source = load_tokenizer(folder / "tokenizer.source.json")
        target = load_tokenizer(folder / "tokenizer.target.json")
        model = experiment.model.build(source.vocab_size, target.vocab_size)
        load_model(folder / "model.safetensors", model)
        settle_threads(model)
        return cls(experiment, source, target, model.eval().to(choose_device(device)))

    def save(self, folder: str | Path) -> None:
        """Writes everything that translating needs. Raises ConfigError for an ensemble."""
        folder = Path(folder)
        if len(self.model.members) > 1:
            raise ConfigError(
                f"{folder}: expected one model to save; got an ensemble of {len(self.model.members)}; "
                "`transduce average` makes one of several"
            )
        folder.mkdir(parents=True, exist_ok=True)
        self.save_settings(folder)
        save_model(folder / "model.safetensors", self.model)

    def save_settings(self, folder: Path) -> None:
        """Writes configuration and tokenizers: all of a run folder but the parameters."""
        settings = self.experiment.tokenizer
        self.source_tokenizer.save(folder / "tokenizer.source.json", settings.source)
        self.target_tokenizer.save(folder / "tokenizer.target.json", settings.target)
        write_file(folder / "config.yaml", dump_yaml(self.experiment.model_dump()).encode())

    def searcher(self, **options: Any) -> Search:
        """The experiment's search with some options changed, such as width, n_best or name.

        Another search keeps what both have. Raises ConfigError.
        """
        spec = self.experiment.search
        kind = Search.family.get(str(options.get("name", spec.name)), Search.family[spec.name])
        known = options_model(kind).model_fields
        kept = {key: value for key, value in spec.options.items() if key in known}
        tree = (
            merge({"name": spec.name, **kept}, options)
            if kind is Search.family[spec.name]
            else kept | options
        )
        return validate(SearchSettings, {"search": tree}, "options").search.build()

    @overload
    def translate(
        self,
        texts: str,
        *,
        search: Search | None = None,
        batch_size: int = 64,
        attention: bool = True,
        prefix: str | None = None,
        phrases: Sequence[str] | None = None,
        replace_unknown: bool | Dictionary = False,
    ) -> Translation: ...
    @overload
    def translate(
        self,
        texts: list[str],
        *,
        search: Search | None = None,
        batch_size: int = 64,
        attention: bool = True,
        prefix: Sequence[str] | None = None,
        phrases: Sequence[Sequence[str]] | None = None,
        replace_unknown: bool | Dictionary = False,
    ) -> list[Translation]: ...
    def translate(
        self,
        texts: str | list[str],
        *,
        search: Search | None = None,
        batch_size: int = 64,
        attention: bool = True,
        prefix: Any = None,
        phrases: Any = None,
        replace_unknown: bool | Dictionary = False,
    ) -> Translation | list[Translation]:
        """Translates one text or a list. A blank text gives a blank one, without the model.

        `prefix` is how the output begins, `phrases` what it holds: of one text, or a list of them for a
        list. `replace_unknown` puts back the source token that an unknown one was read from, or what a
        dictionary translates it by. The result does not depend on `batch_size`, nor on the texts beside one.
        """
        if isinstance(texts, str):
            prefix, phrases = (None if given is None else [given] for given in (prefix, phrases))
        results = self.stream(
            numbered([texts] if isinstance(texts, str) else texts, prefix, phrases),
            search=search,
            batch_size=batch_size,
            attention=attention,
            replace_unknown=replace_unknown,
        )
        return next(results) if isinstance(texts, str) else list(results)

    def stream(
        self,
        lines: Iterable[str] | Iterable[Line],
        *,
        search: Search | None = None,
        batch_size: int = 64,
        attention: bool = False,
        replace_unknown: bool | Dictionary = False,
        alternatives: int = 0,
    ) -> Iterator[Translation]:
        """Translates in windows of many batches, in order; memory does not grow with the input.

        With `alternatives` each has a trace, which tells so many of the likeliest tokens at each step.
        """
        check_batch_size(batch_size)
        search = search or self.searcher()
        copied = {} if replace_unknown is True else None
        dictionary = copied if isinstance(replace_unknown, bool) else replace_unknown
        readers = {"coverage_penalty": search.coverage_penalty > 0, "replace_unk": dictionary is not None}
        self.check_attention(*(name for name, reads in readers.items() if reads))
        if dictionary is not None and search.rules.without:
            raise ConfigError(
                "replace_unk with search.without: expected one; what is put back may hold what is banned"
            )
        eos = self.experiment.model.source_eos
        wanted = Wanted(search, batch_size, attention, dictionary, eos, self.others, alternatives)
        counted = count(lines)
        size = batch_size if alternatives else WINDOW * batch_size  # traces are large
        while window := list(islice(counted, size)):
            yield from self._answers(window, wanted)

    def trace(self, text: str, *, search: Search | None = None, alternatives: int = 5) -> Trace:
        """How one text is decoded: every hypothesis, what was pruned and why, and where attention went.

        At each step it tells the `alternatives` likeliest tokens and all that were chosen.
        """
        if alternatives < 1:
            raise ConfigError(f"alternatives: expected at least 1; got {alternatives}")
        (result,) = self.stream([text], search=search, alternatives=alternatives)
        return cast("Trace", result.trace)

    @torch.no_grad()
    def score(self, sources: Sequence[str], targets: Sequence[str], *, batch_size: int = 64) -> list[float]:
        """log P(target | source) of each pair: natural log, raw sum, EOS in."""
        check_batch_size(batch_size)
        if len(sources) != len(targets):
            raise DataError(
                f"score: expected as many sources as targets; got {len(sources)} and {len(targets)}"
            )
        pairs = [Pair(*pair) for pair in zip(sources, targets, strict=True)]
        if blank := [number for number, pair in enumerate(pairs, 1) if is_blank(pair.source)]:
            raise DataError(f"score: expected a source in every pair; pairs {blank[:5]} have a blank one")
        index = encode_pairs(pairs, self.source_tokenizer, self.target_tokenizer)
        order = sorted(
            range(len(pairs)), key=lambda row: (index.target.lengths[row], index.source.lengths[row])
        )
        results = [0.0] * len(pairs)
        self.model.eval()
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            sums = self._forced(self.batch(index, pairs, rows))
            for row, value in zip(rows, sums, strict=True):
                results[row] = value
        return results

    def batch(self, index: Index, pairs: Sequence[Pair], rows: Sequence[int]) -> Batch:
        """Some rows of these pairs, which `index` holds too, as the model reads them."""
        batch = pair_batch(index, rows, source_eos=self.experiment.model.source_eos)
        others = tuple(reader.read(pairs[row].source for row in rows) for reader in self.others)
        return batch._replace(source=batch.source._replace(others=others))

    def _forced(self, batch: Batch) -> list[float]:
        batch = move(batch, self.model.device)
        log_probs = self.model(batch.source, batch.inputs).log_probs
        chosen = log_probs.gather(2, batch.target.unsqueeze(2)).squeeze(2).double()
        return chosen.masked_fill(~batch.target_mask, 0.0).sum(dim=1).tolist()

    def word_links(self, result: Translation, threshold: float | None = None) -> set[Link]:
        """Links (source word, target word), from 0: each output word's to the source word it looked at most.

        With a `threshold`, to every word it gave so much attention. Words are parted by spaces. `result`
        must carry its attention.
        """
        return word_links(result, self.source_tokenizer, threshold)

    def _answers(self, lines: list[Line], wanted: Wanted) -> Iterator[Translation]:
        """A window's translations; where a line has none, those of the lines before it, then the error."""
        try:
            results = self._window(lines, wanted)
        except Untranslatable as refusal:
            if self.team.size == 1:  # else the others wait, and no line of theirs could be asked for again
                yield from self._answers(lines[: lines.index(refusal.line)], wanted)
            raise refusal.error from None
        yield from results

    def _window(self, lines: list[Line], wanted: Wanted) -> list[Translation]:
        encodings = [
            Encoding([], []) if is_blank(line.text) else self.source_tokenizer.encode(line.text)
            for line in lines
        ]
        self.notes.note_unseen((line.text for line in lines), encodings)
        nothing = np.zeros((0, 0), dtype=np.float32) if wanted.attention else None
        trace = Trace.of_nothing if wanted.alternatives else lambda text: None
        results = [Translation(line.text, "", attention=nothing, trace=trace(line.text)) for line in lines]
        order = [row for row in range(len(lines)) if encodings[row].ids]
        order.sort(key=lambda row: len(encodings[row].ids))
        order = order[self.team.rank :: self.team.size]
        for start in range(0, len(order), wanted.batch_size):
            rows = order[start : start + wanted.batch_size]
            chosen = [lines[row] for row in rows], [encodings[row] for row in rows]
            batch = translate_batch(self.model, self.target_tokenizer, *chosen, wanted)
            for row, result in zip(rows, batch, strict=True):
                results[row] = result
        for found in self.team.gather({row: results[row] for row in order}):
            for row, result in found.items():
                results[row] = result
        self.notes.unfinished += sum(not result.finished for result in results)
        return results

    def check_attention(self, *readers: str) -> None:
        """Refuses options that read attention, where the model has none. Raises ConfigError naming them."""
        if readers and not self.model.attends:
            names = " and ".join(readers)
            raise ConfigError(f"{names}: expected a model with attention; this one has attention 'none'")


def check_batch_size(batch_size: int) -> None:
    if batch_size < 1:
        raise ConfigError(f"batch_size: expected at least 1; got {batch_size}")
