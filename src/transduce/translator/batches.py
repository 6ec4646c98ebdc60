"""One batch of lines, decoded and told."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.data.batch import source_batch
from transduce.ensemble import Ensemble
from transduce.errors import DataError, ModelError
from transduce.model import Seq2Seq
from transduce.search import Beam, Search, Transform, decode
from transduce.search.loop import unwatched
from transduce.tokenizers import Encoding, Tokenizer
from transduce.translation import Translation
from transduce.translator.lines import Line, ask, room
from transduce.translator.readers import Reader
from transduce.translator.recorder import Recorder
from transduce.translator.results import Hypothesis, attend, chosen, hypotheses, put_back, source_tokens
from transduce.translator.tracing import add_traces
from transduce.translator.unknown import Dictionary
from transduce.types import BOS, EOS, PAD, UNK, Source, move


class Wanted(NamedTuple):
    """How a call translates, and what it tells."""

    search: Search
    batch_size: int
    attention: bool
    dictionary: Dictionary | None  # replaces unknown tokens
    source_eos: bool
    others: Sequence[Reader]  # of members of an ensemble
    alternatives: int = 0  # to be told of at each step; 0: no trace


class Untranslatable(Exception):
    """A line that cannot be translated, and the error that says why."""

    def __init__(self, line: Line, error: DataError | ModelError) -> None:
        super().__init__(str(error))
        where, told = f"line {line.number + 1}: ", str(error)
        self.line, self.error = line, type(error)(told if told.startswith(where) else where + told)


def translate_batch(
    model: Seq2Seq | Ensemble,
    tokenizer: Tokenizer,
    lines: list[Line],
    encodings: list[Encoding],
    wanted: Wanted,
) -> list[Translation]:
    """Decodes one batch. Raises Untranslatable for a line that is at fault when it is by itself."""
    try:
        return decode_batch(model, tokenizer, lines, encodings, wanted)
    except (DataError, ModelError) as error:
        if len(lines) == 1:
            raise Untranslatable(lines[0], error) from error
        for line, encoding in zip(lines, encodings, strict=True):
            translate_batch(model, tokenizer, [line], [encoding], wanted)
        raise


@torch.no_grad()
def decode_batch(
    model: Seq2Seq | Ensemble,
    tokenizer: Tokenizer,
    lines: list[Line],
    encodings: list[Encoding],
    wanted: Wanted,
) -> list[Translation]:
    """Decodes one batch; attention comes from one forced pass over what was found."""
    model.eval()
    search, eos = wanted.search, wanted.source_eos
    source = move(read(lines, encodings, wanted), model.device)
    asked = ask(lines, [len(encoding.ids) for encoding in encodings], tokenizer, search)
    asked = move(asked, model.device)
    recorder = Recorder(search, tokenizer, wanted.alternatives, len(lines)) if wanted.alternatives else None
    decoded = decode(
        model,
        source,
        search,
        bos=BOS,
        eos=EOS,
        max_length=room(asked, search.max_length.of(asked.length)),
        asked=asked,
        transforms=[forbid(never(tokenizer))],
        watch=recorder or unwatched,
    )
    decoded = move(decoded, "cpu")
    kept = []
    for row, (line, encoding) in enumerate(zip(lines, encodings, strict=True)):
        told = Translation(line.text, "", source_tokens=source_tokens(line.text, encoding, eos=eos))
        kept.append(hypotheses(decoded, row, tokenizer, told))
    if wanted.dictionary is not None:
        put_back(model, source, flat(kept), tokenizer, wanted.dictionary, eos=eos)
    n_best = [chosen(several, search) for several in kept]
    if wanted.attention:
        found = flat(n_best)
        for hypothesis, seen in zip(found, attend(model, source, found), strict=True):
            hypothesis.translation.attention = seen
    if recorder is not None:
        add_traces(recorder, model, source, n_best, encodings)
    listed = [[hypothesis.translation for hypothesis in several] for several in n_best]
    return [dataclasses.replace(one[0], n_best=one if search.n_best > 1 else []) for one in listed]


def flat(several: Sequence[Sequence[Hypothesis]]) -> list[Hypothesis]:
    return [hypothesis for one in several for hypothesis in one]


def read(lines: Sequence[Line], encodings: Sequence[Encoding], wanted: Wanted) -> Source:
    """The batch of these lines, as every member of an ensemble reads it."""
    others = tuple(reader.read(line.text for line in lines) for reader in wanted.others)
    source = source_batch((encoding.ids for encoding in encodings), eos=wanted.source_eos)
    return source._replace(others=others)


def never(tokenizer: Tokenizer) -> list[int]:
    """Ids that are no output. An unknown token that was never a target has a probability of noise."""
    return [PAD, BOS, UNK] if tokenizer.complete else [PAD, BOS]


def forbid(ids: list[int]) -> Transform:
    """The transform after which these ids are never output; it writes to what it is given."""
    never = torch.tensor(ids)

    def transform(log_probs: Float[Tensor, "B K V"], beam: Beam) -> Float[Tensor, "B K V"]:
        return log_probs.index_fill_(-1, never.to(log_probs.device), -torch.inf)

    return transform
