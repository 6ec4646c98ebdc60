"""What was recorded of a decoding, put together with what it was of: a trace a sentence."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from transduce.ensemble import Ensemble
from transduce.metrics.alignment import locate
from transduce.model import Seq2Seq
from transduce.tokenizers import Encoding
from transduce.trace import Token, Trace
from transduce.translation import Translation
from transduce.translator.recorder import Recorder
from transduce.translator.results import Hypothesis, forced_weights
from transduce.types import Source


def add_traces(
    recorder: Recorder,
    model: Seq2Seq | Ensemble,
    source: Source,
    n_best: Sequence[Sequence[Hypothesis]],
    encodings: Sequence[Encoding],
) -> None:
    """Gives the best result of each sentence its trace, for which one more forced pass is made."""
    weights = forced_weights(model, source, [best[0] for best in n_best]).cpu()
    for found, encoding, seen in zip(n_best, encodings, weights, strict=True):
        found[0].translation.trace = trace_of(recorder, found, encoding, seen)


def trace_of(
    recorder: Recorder,
    found: Sequence[Hypothesis],
    encoding: Encoding,
    weights: Float[Tensor, "T L H S"],
) -> Trace:
    """The trace of one sentence, whose results are `found`."""
    best = found[0].translation
    return Trace(
        source=best.source,
        source_tokens=placed(best.source_tokens, encoding.offsets),
        text=best.text,
        target_tokens=placed(best.tokens, written(best)),
        weights=weights[: len(best.tokens), :, :, : len(best.source_tokens)].tolist(),
        steps=recorder.records[found[0].row].steps,
        n_best=[recorder.result(one.row, one.place, one.translation) for one in found],
    )


def written(best: Translation) -> list[tuple[int, int]]:
    """Where the tokens of an output stand in its text."""
    return locate(best.tokens[: len(best.tokens) - best.finished], best.text)


def placed(texts: Sequence[str], offsets: Sequence[tuple[int, int]]) -> list[Token]:
    """Tokens with the places there are; the end of a sentence has none."""
    tokens = [
        Token(text=text, start=start, end=end) for text, (start, end) in zip(texts, offsets, strict=False)
    ]
    return tokens + [Token(text=text, start=None, end=None) for text in texts[len(offsets) :]]
