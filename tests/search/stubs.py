"""Fixed next-token probabilities in place of a network, for the product's own search loop."""

import math
from collections.abc import Callable, Sequence

import torch

from transduce.search import decode
from transduce.search.beam import BeamSearch
from transduce.search.base import MaxLength
from transduce.config import Spec
from transduce.search.penalties import LengthPenalty
from transduce.types import Output, Source

BOS, EOS = 0, 1  # of a stub's own vocabulary: 0 is never generated, 1 ends, then the symbols


class Stub:
    """Drives a search by `rules[b](prefix) -> {symbol: probability}`, symbols as text, "E" for the end."""

    def __init__(self, rules: Sequence[Callable[[tuple[str, ...]], dict[str, float]]], symbols: str) -> None:
        self.rules, self.symbols = rules, "SE" + symbols

    def start(self, source: Source):
        sentence = torch.arange(len(self.rules))
        return (sentence,), (sentence, torch.zeros(len(self.rules), 0, dtype=torch.long))

    def step(self, memory, state, token, *, weights=False):
        sentence, prefix = state
        prefix = torch.cat([prefix, token.unsqueeze(1)], dim=1)
        rows = [self._row(b, p[1:]) for b, p in zip(sentence.tolist(), prefix.tolist(), strict=True)]
        return (sentence, prefix), Output(torch.tensor(rows, dtype=torch.float64), None)

    def _row(self, sentence: int, prefix: list[int]) -> list[float]:
        symbols = tuple(self.symbols[i] for i in prefix)
        # an empty place of the beam holds no hypothesis: what it is given must not matter
        chances = {"E": 1.0} if {"S", "E"} & set(symbols) else self.rules[sentence](symbols)
        return [math.log(chances[s]) if chances.get(s) else -math.inf for s in self.symbols]


def run(stub: Stub, max_len: int | list[int], penalty=("none", {}), **options):
    """The n best of each sentence as [(text, score, log_prob, finished)]."""
    limits = torch.tensor([max_len] * len(stub.rules) if isinstance(max_len, int) else max_len)
    search = BeamSearch(length_penalty=Spec(LengthPenalty, *penalty), **options)
    out = decode(stub, Source(limits, limits), search, bos=BOS, eos=EOS, max_length=limits)
    results = []
    for b in range(len(stub.rules)):
        rows = [n for n in range(out.length.shape[1]) if out.log_prob[b, n] > -math.inf]
        results.append(
            [
                (
                    " ".join(stub.symbols[i] for i in out.tokens[b, n, : out.length[b, n]]),
                    out.score[b, n].item(),
                    out.log_prob[b, n].item(),
                    out.finished[b, n].item(),
                )
                for n in rows
            ]
        )
    return results


def sine(prefix: tuple[str, ...]) -> dict[str, float]:
    """The carried-state stub of DEC-01 and DEC-02."""
    if len(prefix) == 4:
        return {"E": 1.0}
    h = 1
    for symbol in prefix:
        h = (31 * h + " abc".index(symbol)) % 97
    logits = {s: 2 * math.sin(11 * h + 5 * i) for i, s in enumerate("Eabc")}
    total = sum(math.exp(x) for x in logits.values())
    return {s: math.exp(x) / total for s, x in logits.items()}


def tree(prefix: tuple[str, ...]) -> dict[str, float]:
    """The prefix-table stub of DEC-03, 07, 10, 13, 15."""
    table = {
        (): {"a": 0.5, "b": 0.4, "E": 0.1},
        ("a",): {"E": 0.8, "a": 0.1, "b": 0.1},
        ("b",): {"b": 0.9, "E": 0.05, "a": 0.05},
    }
    return table.get(prefix, {"E": 0.9, "a": 0.05, "b": 0.05})
