"""What was decoded, told as translations."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float

from transduce.data.batch import pad
from transduce.ensemble import Ensemble
from transduce.model import Seq2Seq
from transduce.search import Decoded, Search
from transduce.tokenizers import Encoding, Tokenizer
from transduce.translation import END, Translation
from transduce.translator.unknown import Dictionary, decode_with, replacements
from transduce.types import BOS, UNK, Source, select


class Hypothesis(NamedTuple):
    """One of the results of a sentence: its row in the batch, its ids without EOS, and what it tells."""

    row: int
    place: int  # among all that were kept
    ids: list[int]
    translation: Translation


def hypotheses(decoded: Decoded, row: int, tokenizer: Tokenizer, told: Translation) -> list[Hypothesis]:
    """All results of one sentence, best first; `told` is what is known of each beforehand."""
    found = []
    for n in range(int(decoded.log_prob[row].gt(-torch.inf).sum())):
        ids = decoded.tokens[row, n, : decoded.length[row, n]].tolist()
        finished = bool(decoded.finished[row, n])
        tokens = [tokenizer.token(index) for index in ids] + [END] * finished
        translation = dataclasses.replace(
            told,
            text=tokenizer.decode(ids),
            score=decoded.score[row, n].item(),
            log_prob=decoded.log_prob[row, n].item(),
            finished=finished,
            tokens=tokens,
            token_log_probs=decoded.token_log_probs[row, n, : len(tokens)].tolist(),
        )
        found.append(Hypothesis(row, n, ids, translation))
    return found


def source_tokens(text: str, encoding: Encoding, *, eos: bool) -> list[str]:
    return [text[start:end] for start, end in encoding.offsets] + [END] * eos


def chosen(found: Sequence[Hypothesis], search: Search) -> list[Hypothesis]:
    """The n best of the results kept; of those with one text only the best, where texts are to differ."""
    if search.texts_differ:
        best = {hypothesis.translation.text: hypothesis for hypothesis in reversed(found)}
        found = [hypothesis for hypothesis in found if best[hypothesis.translation.text] is hypothesis]
    return list(found[: search.n_best])


def attend(
    model: Seq2Seq | Ensemble, source: Source, found: Sequence[Hypothesis]
) -> list[Float[np.ndarray, "T S"]]:
    """What each read of its source: the last layer's attention, heads averaged."""
    weights = forced_weights(model, source, found)[:, :, -1].mean(dim=2)  # [n T S]
    told = (hypothesis.translation for hypothesis in found)
    return [
        seen[: len(one.tokens), : len(one.source_tokens)]
        for one, seen in zip(told, weights.cpu().numpy(), strict=True)
    ]


def forced_weights(
    model: Seq2Seq | Ensemble, source: Source, found: Sequence[Hypothesis]
) -> Float[torch.Tensor, "n T L H S"]:
    """The attention of each in full, padding and all, by one forced pass."""
    inputs, _ = pad([[BOS, *hypothesis.ids] for hypothesis in found])
    rows = torch.tensor([hypothesis.row for hypothesis in found])
    repeated = select(source, rows.to(source.mask.device))
    return model(repeated, inputs.to(source.mask.device), weights=True).weights


def put_back(
    model: Seq2Seq | Ensemble,
    source: Source,
    found: Sequence[Hypothesis],
    tokenizer: Tokenizer,
    dictionary: Dictionary,
    *,
    eos: bool,
) -> None:
    """Puts back what unknown tokens were read from, in texts and tokens; `eos` says that sources have one."""
    unknown = [hypothesis for hypothesis in found if UNK in hypothesis.ids]
    if not unknown:
        return
    for (_, _, ids, told), seen in zip(unknown, attend(model, source, unknown), strict=True):
        real = told.source_tokens[: len(told.source_tokens) - eos]
        replaced = replacements(ids, seen, real, dictionary)
        told.text = decode_with(ids, replaced, tokenizer)
        told.tokens = [replaced.get(place, token) for place, token in enumerate(told.tokens)]
