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
from transduce.search import Asked, Decoded, Search, decode, reference
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

    def __init__(self, rules: Sequence[Rule], symbols: str, lengths: Sequence[int] = ()) -> None:
        self.rules, self.symbols = rules, "SE" + symbols
        self.lengths = list(lengths) or [1] * len(rules)  # of sources, which only attention sees
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
        if not weights:
            return (sentence, prefix), Output(log_probs, None)
        rows = [self.seen(*ask) for ask in asked]
        return (sentence, prefix), Output(log_probs, torch.tensor(rows, dtype=torch.float64)[:, None, None])

    def seen(self, sentence: int, prefix: Prefix) -> list[float]:
        """Attention on a sentence's own source, and zeros on its padding."""
        own = attention(self.lengths[sentence], prefix)
        return own + [0.0] * (max(self.lengths) - len(own))

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


def attention(length: int, prefix: Prefix) -> list[float]:
    """A random distribution over a source, a sharp one."""
    rng = random.Random(f"{length} {' '.join(prefix)}")
    powers = [math.exp(4 * rng.gauss(0, 1)) for _ in range(length)]
    return [power / sum(powers) for power in powers]


def sources(stub: Stub) -> Source:
    mask = torch.arange(max(stub.lengths)) < torch.tensor(stub.lengths).unsqueeze(1)
    return Source(torch.zeros(mask.shape, dtype=torch.long), mask)


def wishes(stub: Stub, **asked: Sequence[Any]) -> Asked:
    """What is asked of each sentence: `prefix`, a word; `phrases` and `banned`, lists of words; `line`."""

    def ids(texts: Sequence[str], size: int, right: bool) -> list[list[int]]:
        rows = [[stub.symbols.index(symbol) for symbol in text] for text in texts]
        return [row + [-1] * (size - len(row)) if right else [-1] * (size - len(row)) + row for row in rows]

    def lists(texts: Sequence[Sequence[str]], right: bool) -> Tensor:
        most, size = max(map(len, texts)), max((len(text) for row in texts for text in row), default=0)
        padded = [ids([*row, *[""] * (most - len(row))], size, right) for row in texts]
        return torch.tensor(padded, dtype=torch.long).view(len(texts), most, size)

    plain = Asked.nothing(torch.tensor(stub.lengths))
    none = [()] * len(stub.rules)
    return plain._replace(
        line=torch.tensor(asked.get("line", plain.line.tolist())),
        prefix=lists([asked.get("prefix", [""] * len(none))], True)[0],
        phrases=lists(asked.get("phrases", none), True),
        banned=lists(asked.get("banned", none), False),
    )


def raw(
    stub: Stub,
    max_length: int | Sequence[int],
    penalty: Penalty = ("none", None),
    asked: Asked | None = None,
    **options: Any,
) -> Decoded:
    return drive(stub, max_length, searcher(penalty, **options), asked)


def drive(stub: Stub, max_length: int | Sequence[int], search: Search, asked: Asked | None = None) -> Decoded:
    limits = [max_length] * len(stub.rules) if isinstance(max_length, int) else max_length
    limit = torch.tensor(limits)
    return decode(stub, sources(stub), search, bos=BOS, eos=EOS, max_length=limit, asked=asked)


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
    stub: Stub,
    max_length: int | Sequence[int],
    penalty: Penalty = ("none", None),
    asked: Asked | None = None,
    **options: Any,
) -> list[list[Found]]:
    """The n best of each sentence, by the product."""
    out = raw(stub, max_length, penalty, asked, **options)
    return [read(stub, out, sentence) for sentence in range(len(stub.rules))]


def stepper(rule: Rule, symbols: str) -> reference.StepFunction:
    """A rule as the reference takes it, continuations in the order of a stub's ids."""

    def step(prefix: Sequence[Any]) -> list[tuple[Any, float]]:
        row = rule(tuple(prefix[1:]))
        return [(symbol, row[symbol]) for symbol in "E" + symbols if symbol in row]

    return step


def expected(
    rule: Rule,
    symbols: str,
    max_length: int,
    penalty: Penalty,
    width: int,
    policy: str,
    coverage: reference.Coverage | None = None,
) -> list[Found]:
    """The n best of one sentence, by the reference."""
    name, alpha = penalty
    step = stepper(rule, symbols)
    candidates = reference.n_best(
        step, "S", "E", width, max_length + 1, alpha or 0.0, policy, name, True, coverage
    )
    results = [found(c.prefix[1:], c.log_prob, penalty) for c in candidates]
    extra = [coverage.penalty(c.prefix) if coverage else 0.0 for c in candidates]
    return [r._replace(score=r.score + more) for r, more in zip(results, extra, strict=True)]


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


def close(results: Sequence[Found], others: Sequence[Found], tolerance: float = 1e-12) -> bool:
    """The same lists: texts and flags equal, numbers within the tolerance."""
    return [(r.text, r.finished) for r in results] == [(o.text, o.finished) for o in others] and all(
        math.isclose(number, other, rel_tol=0, abs_tol=tolerance)
        for r, o in zip(results, others, strict=True)
        for number, other in zip(r[1:3], o[1:3], strict=True)
    )


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
