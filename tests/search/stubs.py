"""Fixed next-token log-probabilities in place of a network, for the product's own search loop.

A rule maps a prefix of symbols to {symbol: log-probability}, "E" for the end; what is not named is
impossible. The same rules drive the product's loop (`run`), its reference (`expected`) and a plain
walk over every sequence there is (`everything`).
"""

import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from transduce.config import Spec
from transduce.search import Decoded, decode, reference
from transduce.search.beam import BeamSearch
from transduce.search.penalties import LengthPenalty
from transduce.types import Output, Source

Prefix = tuple[str, ...]
Row = Mapping[str, float]
Rule = Callable[[Prefix], Row]
Penalty = tuple[str, float | None]  # its name, and its alpha where it has one

BOS, EOS = 0, 1  # ids of a stub's own vocabulary: 0 is never generated, 1 ends, then the symbols
POLICIES = ("top_k", "pools")
PENALTIES: tuple[Penalty, ...] = (
    ("none", None),
    ("average", 0.0),
    ("average", 0.5),
    ("average", 0.7),
    ("average", 1.0),
    ("average", 2.0),
    ("gnmt", 0.6),
    ("gnmt", 1.0),
    ("gnmt", 3.0),
)


class Found(NamedTuple):
    """One result: symbols without the end, joined by spaces."""

    text: str
    score: float
    log_prob: float
    finished: bool


class Stub:
    """A model that knows one rule a sentence; its state is the prefix, so a wrong one shows at once."""

    def __init__(self, rules: Sequence[Rule], symbols: str) -> None:
        self.rules, self.symbols = rules, "SE" + symbols
        self.asked: list[list[tuple[int, Prefix]]] = []  # (sentence, prefix) of each row of each step

    def start(self, source: Source) -> tuple[Any, Any]:
        sentence = torch.arange(len(self.rules))
        return (sentence,), (sentence, torch.zeros(len(self.rules), 0, dtype=torch.long))

    def step(self, memory: Any, state: Any, token: Tensor, *, weights: bool = False) -> tuple[Any, Output]:
        sentence, prefix = state
        rows = len(sentence) // len(memory[0])
        assert torch.equal(memory[0].repeat_interleave(rows), sentence)
        prefix = torch.cat([prefix, token.unsqueeze(1)], dim=1)
        asked = [(b, self.read(p[1:])) for b, p in zip(sentence.tolist(), prefix.tolist(), strict=True)]
        self.asked.append(asked)
        log_probs = torch.tensor([self._row(*ask) for ask in asked], dtype=torch.float64)
        return (sentence, prefix), Output(log_probs, None)

    def read(self, ids: Sequence[int]) -> Prefix:
        return tuple(self.symbols[i] for i in ids)

    def _row(self, sentence: int, prefix: Prefix) -> list[float]:
        if {"S", "E"} & set(prefix):  # an empty place of the beam: what it is given must not matter
            return [0.0] * len(self.symbols)
        row = self.rules[sentence](prefix)
        return [row.get(symbol, -math.inf) for symbol in self.symbols]


def searcher(penalty: Penalty = ("none", None), **options: Any) -> BeamSearch:
    name, alpha = penalty
    chosen = Spec(LengthPenalty, name, {} if alpha is None else {"alpha": alpha})
    return BeamSearch(length_penalty=chosen, **options)


def raw(
    stub: Stub, max_length: int | Sequence[int], penalty: Penalty = ("none", None), **options: Any
) -> Decoded:
    limits = [max_length] * len(stub.rules) if isinstance(max_length, int) else max_length
    source = Source(torch.zeros(len(limits), 1).long(), torch.ones(len(limits), 1).bool())
    search = searcher(penalty, **options)
    return decode(stub, source, search, bos=BOS, eos=EOS, max_length=torch.tensor(limits))


def read(stub: Stub, out: Decoded, sentence: int) -> list[Found]:
    """The n best of a sentence, without the rows that hold none."""
    found = []
    for n in range(out.length.shape[1]):
        if out.log_prob[sentence, n] == -math.inf:
            assert out.log_prob[sentence, n:].eq(-math.inf).all()
            assert not out.length[sentence, n:].any()
            assert not out.finished[sentence, n:].any()
            break
        text = " ".join(stub.read(out.tokens[sentence, n, : out.length[sentence, n]].tolist()))
        leaves = (leaf[sentence, n].item() for leaf in (out.score, out.log_prob, out.finished))
        found.append(Found(text, *leaves))
    return found


def run(
    stub: Stub, max_length: int | Sequence[int], penalty: Penalty = ("none", None), **options: Any
) -> list[list[Found]]:
    """The n best of each sentence, by the product."""
    out = raw(stub, max_length, penalty, **options)
    return [read(stub, out, sentence) for sentence in range(len(stub.rules))]


def stepper(rule: Rule, symbols: str) -> reference.StepFunction:
    """A rule as the reference takes it, continuations in the order of a stub's ids."""

    def step(prefix: Sequence[Any]) -> list[tuple[Any, float]]:
        row = rule(tuple(prefix[1:]))
        return [(symbol, row[symbol]) for symbol in "E" + symbols if symbol in row]

    return step


def expected(
    rule: Rule, symbols: str, max_length: int, penalty: Penalty, width: int, policy: str
) -> list[Found]:
    """The n best of one sentence, by the reference."""
    name, alpha = penalty
    candidates = reference.n_best(
        stepper(rule, symbols), "S", "E", width, max_length + 1, alpha or 0.0, policy, name, end_early=True
    )
    return [found(c.prefix[1:], c.log_prob, penalty) for c in candidates]


def found(generated: Prefix, log_prob: float, penalty: Penalty) -> Found:
    finished = generated[-1:] == ("E",)
    score = log_prob / divisor(max(len(generated), 1), penalty)
    return Found(" ".join(generated[: len(generated) - finished]), score, log_prob, finished)


def divisor(length: int, penalty: Penalty) -> float:
    """REFERENCE §5, written once more."""
    name, alpha = penalty
    if name == "none":
        return 1.0
    return length**alpha if name == "average" else ((5 + length) / 6) ** alpha


def everything(rule: Rule, symbols: str, max_length: int, penalty: Penalty) -> list[Found]:
    """Every finished sequence of at most `max_length` symbols, best first."""
    results = []
    for length in range(max_length + 1):
        for generated in itertools.product(symbols, repeat=length):
            log_prob = forced(rule, (*generated, "E"))
            if log_prob > -math.inf:
                results.append(found((*generated, "E"), log_prob, penalty))
    return sorted(results, key=lambda result: -result.score)


def forced(rule: Rule, generated: Prefix) -> float:
    """log P of these tokens, the end in if it is there."""
    return sum(rule(generated[:t]).get(token, -math.inf) for t, token in enumerate(generated))


def logs(chances: Mapping[str, float]) -> Row:
    return {symbol: math.log(chance) for symbol, chance in chances.items() if chance}


def sine(prefix: Prefix) -> Row:
    """The carried-state stub of DEC-01 and DEC-02."""
    if len(prefix) >= 4:
        return {"E": 0.0}
    h = 1
    for symbol in prefix:
        h = (31 * h + " abc".index(symbol)) % 97
    logits = {s: 2 * math.sin(11 * h + 5 * i) for i, s in enumerate("Eabc")}
    total = math.log(sum(math.exp(x) for x in logits.values()))
    return {s: x - total for s, x in logits.items()}


def tree(prefix: Prefix) -> Row:
    """The prefix-table stub of DEC-03, 07, 10, 13, 15."""
    table = {
        (): {"a": 0.5, "b": 0.4, "E": 0.1},
        ("a",): {"E": 0.8, "a": 0.1, "b": 0.1},
        ("b",): {"b": 0.9, "E": 0.05, "a": 0.05},
    }
    return logs(table.get(prefix, {"E": 0.9, "a": 0.05, "b": 0.05}))


def patient(steps: int) -> Rule:
    """Cannot end before `steps` symbols, and ends then."""
    return lambda prefix: logs({"E": 1.0} if len(prefix) >= steps else {"a": 0.6, "b": 0.4})


def drawn(seed: int, symbols: str, kind: str = "dense") -> Rule:
    """A random table. `tied` ones hold quarters, whose sums are exact and often equal (no distribution)."""

    def rule(prefix: Prefix) -> Row:
        rng = random.Random(f"{seed} {kind} {' '.join(prefix)}")
        if kind == "tied":
            return {symbol: -rng.randrange(1, 9) / 4 for symbol in "E" + symbols}
        sharpness = {"dense": 1.0, "sharp": 4.0, "sparse": 1.5}[kind]
        chances = {symbol: math.exp(sharpness * rng.gauss(0, 1)) for symbol in "E" + symbols}
        if kind == "sparse":  # one at least stays
            kept = rng.sample(sorted(chances), rng.randint(1, len(chances)))
            chances = {symbol: chances[symbol] for symbol in "E" + symbols if symbol in kept}
        total = sum(chances.values())
        return logs({symbol: chance / total for symbol, chance in chances.items()})

    return rule
