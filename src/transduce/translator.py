"""Text to text: the one class most users need."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transduce.config import Spec, dump_yaml
from transduce.data.batch import Batch, pad, pair_batch, source_batch
from transduce.data.index import encode_pairs
from transduce.data.pairs import Pair, is_blank
from transduce.devices import settle_threads
from transduce.errors import CheckpointError, ConfigError, DataError
from transduce.experiment import Experiment, load_experiment
from transduce.files import write_file
from transduce.model import Seq2Seq
from transduce.search import Beam, Decoded, Search, Transform, decode
from transduce.tokenizers import Encoding, Tokenizer, load_tokenizer
from transduce.training.checkpoint import load_model, save_model
from transduce.translation import END, Translation
from transduce.types import BOS, EOS, PAD, UNK, select

WINDOW = 64  # batches read ahead and sorted by length


@dataclasses.dataclass
class Notes:
    """What a user should hear about after a translation."""

    unseen: Counter[str] = dataclasses.field(default_factory=Counter)
    unfinished: int = 0

    def lines(self) -> Iterator[str]:
        if self.unseen:
            first = ", ".join(map(repr, list(self.unseen)[:5])) + (", …" if len(self.unseen) > 5 else "")
            yield f"{self.unseen.total()} source tokens were never seen in training, read as unknown: {first}"
        if self.unfinished:
            yield f"{self.unfinished} outputs did not end at the maximum length; see search.max_length"


class Translator:
    """A trained model with its tokenizers and its configuration."""

    def __init__(
        self, experiment: Experiment, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer, model: Seq2Seq
    ) -> None:
        self.experiment, self.model = experiment, model
        self.source_tokenizer, self.target_tokenizer = source_tokenizer, target_tokenizer
        self.notes = Notes()

    @classmethod
    def load(cls, folder: str | Path) -> "Translator":
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
        return cls(experiment, source, target, model.eval())

    def save(self, folder: str | Path) -> None:
        """Writes everything that translating needs."""
        folder = Path(folder)
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
        """The experiment's search with some options changed, such as width or n_best."""
        spec = self.experiment.search
        return Spec(spec.kind, spec.name, {**spec.options, **options}).build()

    @overload
    def translate(
        self, texts: str, *, search: Search | None = None, batch_size: int = 64, attention: bool = True
    ) -> Translation: ...
    @overload
    def translate(
        self, texts: list[str], *, search: Search | None = None, batch_size: int = 64, attention: bool = True
    ) -> list[Translation]: ...
    def translate(
        self,
        texts: str | list[str],
        *,
        search: Search | None = None,
        batch_size: int = 64,
        attention: bool = True,
    ) -> Translation | list[Translation]:
        """Translates one text or a list. A blank text gives a blank one, without the model.

        The result does not depend on `batch_size`, nor on the texts beside one.
        """
        many = [texts] if isinstance(texts, str) else list(texts)
        results = list(self.stream(many, search=search, batch_size=batch_size, attention=attention))
        return results[0] if isinstance(texts, str) else results

    def stream(
        self,
        texts: Iterable[str],
        *,
        search: Search | None = None,
        batch_size: int = 64,
        attention: bool = False,
    ) -> Iterator[Translation]:
        """Translates in windows of many batches, in order; memory does not grow with the input."""
        check_batch_size(batch_size)
        search = search or self.searcher()
        texts = iter(texts)
        while window := list(islice(texts, WINDOW * batch_size)):
            yield from self._window(window, search, batch_size, attention)

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
            sums = self._forced(pair_batch(index, rows, source_eos=self.experiment.model.source_eos))
            for row, value in zip(rows, sums, strict=True):
                results[row] = value
        return results

    def _forced(self, batch: Batch) -> list[float]:
        log_probs = self.model(batch.source, batch.inputs).log_probs
        chosen = log_probs.gather(2, batch.target.unsqueeze(2)).squeeze(2).double()
        return chosen.masked_fill(~batch.target_mask, 0.0).sum(dim=1).tolist()

    def _window(
        self, texts: list[str], search: Search, batch_size: int, attention: bool
    ) -> list[Translation]:
        encodings = [
            Encoding([], []) if is_blank(text) else self.source_tokenizer.encode(text) for text in texts
        ]
        self._note_unseen(texts, encodings)
        nothing = np.zeros((0, 0), dtype=np.float32) if attention else None
        results = [Translation(text, "", attention=nothing) for text in texts]
        order = [row for row in range(len(texts)) if encodings[row].ids]
        order.sort(key=lambda row: len(encodings[row].ids))
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            chosen = [(texts[row], encodings[row]) for row in rows]
            for row, result in zip(rows, self._batch(chosen, search, attention), strict=True):
                results[row] = result
        self.notes.unfinished += sum(not result.finished for result in results)
        return results

    @torch.no_grad()
    def _batch(
        self, chosen: list[tuple[str, Encoding]], search: Search, attention: bool
    ) -> list[Translation]:
        """Decodes one batch; attention comes from one forced pass over what was found."""
        self.model.eval()
        lengths = torch.tensor([len(encoding.ids) for _, encoding in chosen])
        source = source_batch((e.ids for _, e in chosen), eos=self.experiment.model.source_eos)
        limits = search.max_length.of(lengths)
        # an unknown token that was never a target in training has a probability of noise
        never = [PAD, BOS, UNK] if self.target_tokenizer.complete else [PAD, BOS]
        found = decode(
            self.model, source, search, bos=BOS, eos=EOS, max_length=limits, transforms=[forbid(never)]
        )
        results = [self._describe(text, encoding, found, row) for row, (text, encoding) in enumerate(chosen)]
        if attention:
            flat = [(row, best) for row, result in enumerate(results) for best in result.n_best]
            inputs, _ = pad([[BOS, *self._ids(found, row, n)] for row, n in ranks(results)])
            repeated = select(source, torch.tensor([row for row, _ in flat]))
            weights = self.model(repeated, inputs, weights=True).weights[:, :, -1].mean(dim=2)  # [n T S]
            for (_, best), seen in zip(flat, weights.cpu().numpy(), strict=True):
                best.attention = seen[: len(best.tokens), : len(best.source_tokens)]
        return [
            dataclasses.replace(r.n_best[0], n_best=r.n_best if search.n_best > 1 else []) for r in results
        ]

    def _describe(self, text: str, encoding: Encoding, found: Decoded, row: int) -> Translation:
        source_tokens = [text[start:end] for start, end in encoding.offsets]
        if self.experiment.model.source_eos:
            source_tokens.append(END)
        n_best = []
        for n in range(found.length.shape[1]):
            if found.log_prob[row, n].isneginf():
                break
            ids, finished = self._ids(found, row, n), bool(found.finished[row, n])
            tokens = [self.target_tokenizer.token(index) for index in ids] + [END] * finished
            n_best.append(
                Translation(
                    text,
                    self.target_tokenizer.decode(ids),
                    score=found.score[row, n].item(),
                    log_prob=found.log_prob[row, n].item(),
                    finished=finished,
                    tokens=tokens,
                    token_log_probs=found.token_log_probs[row, n, : len(tokens)].tolist(),
                    source_tokens=source_tokens,
                )
            )
        return Translation(text, n_best[0].text, n_best=n_best)

    def _ids(self, found: Decoded, row: int, n: int) -> list[int]:
        return found.tokens[row, n, : found.length[row, n]].tolist()

    def _note_unseen(self, texts: list[str], encodings: list[Encoding]) -> None:
        for text, encoding in zip(texts, encodings, strict=True):
            if UNK in encoding.ids:
                for index, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
                    if index == UNK:
                        self.notes.unseen[text[start:end]] += 1


def check_batch_size(batch_size: int) -> None:
    if batch_size < 1:
        raise ConfigError(f"batch_size: expected at least 1; got {batch_size}")


def ranks(results: list[Translation]) -> list[tuple[int, int]]:
    """(row, rank) of every hypothesis, in order."""
    return [(row, n) for row, result in enumerate(results) for n in range(len(result.n_best))]


def forbid(ids: list[int]) -> Transform:
    """The transform after which these ids are never output."""

    def transform(log_probs: Float[Tensor, "B K V"], beam: Beam) -> Float[Tensor, "B K V"]:
        return log_probs.index_fill(-1, torch.tensor(ids, device=log_probs.device), -torch.inf)

    return transform
