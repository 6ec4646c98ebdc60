"""The readable beam search, over Python lists: what the fast one is tested against."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Literal, NamedTuple

Token = int | str
StepFunction = Callable[[tuple[Token, ...]], Iterable[tuple[Token, float]]]
Attend = Callable[[tuple[Token, ...]], Sequence[float]]


class Candidate(NamedTuple):
    prefix: tuple[Token, ...]
    log_prob: float


class Coverage(NamedTuple):
    """GNMT's penalty β Σ_i log(min(Σ_t α_{t,i}, 1)); `attend(prefix)` gives α of the token after it."""

    beta: float
    attend: Attend

    def penalty(self, prefix: tuple[Token, ...]) -> float:
        rows = [self.attend(prefix[:length]) for length in range(1, len(prefix))]
        return self.beta * sum(
            math.log(min(max(sum(column), 1e-10), 1)) for column in zip(*rows, strict=True)
        )


def beam_search(
    step_fn: StepFunction,
    start: Token,
    eos: Token,
    beam_size: int = 3,
    max_len: int = 20,
    alpha: float = 0.7,
    *,
    policy: Literal["pools", "top_k"] = "pools",
    penalty: Literal["none", "average", "gnmt"] = "average",
    end_early: bool = False,
    coverage: Coverage | None = None,
) -> tuple[tuple[Token, ...], float, bool]:
    """Returns (sequence with start and eos, raw log-probability, whether it ended with eos).

    `step_fn(prefix)` gives (token, log-probability) pairs; -inf ones are skipped. `max_len` counts
    generated tokens, eos in. At most `beam_size` active prefixes are kept by raw log-probability,
    completed ones apart, ranked by log-probability / length penalty, plus any coverage penalty.
    Policy `pools`: every active prefix's eos completes; `top_k`: only an eos among the `beam_size`
    best continuations does, and a beam of one whose prefix completes is over. `end_early` makes the
    last token eos or nothing, as the engine does. Ties keep insertion order.
    """
    results = n_best(step_fn, start, eos, beam_size, max_len, alpha, policy, penalty, end_early, coverage)
    best = results[0]
    return best.prefix, best.log_prob, best.prefix[-1] == eos and len(best.prefix) > 1


def n_best(
    step_fn: StepFunction,
    start: Token,
    eos: Token,
    beam_size: int,
    max_len: int,
    alpha: float,
    policy: str,
    penalty: str,
    end_early: bool = False,
    coverage: Coverage | None = None,
) -> list[Candidate]:
    """All completed prefixes that were kept, best first; where there are none, the active ones."""
    check_arguments(start, eos, beam_size, max_len, alpha)
    active, completed = [Candidate((start,), 0.0)], []
    rank = partial(cost, alpha=alpha, penalty=penalty, coverage=coverage)
    for length in range(1, max_len + 1):
        grown = [heir for parent in active for heir in expand(parent, step_fn)]
        grown.sort(key=lambda candidate: -candidate.log_prob)
        ending = [c for c in (grown[:beam_size] if policy == "top_k" else grown) if c.prefix[-1] == eos]
        going = [c for c in grown if c.prefix[-1] != eos][:beam_size]
        completed += ending
        completed.sort(key=rank)
        over = policy == "top_k" and beam_size == 1 and ending
        if end_early and length == max_len:
            break
        active = [] if over else going
        if not active:
            break
    if not completed and not active:
        raise ValueError("beam_search: expected a finite hypothesis; every continuation was -inf")
    return completed[:beam_size] or sorted(active, key=rank)


def expand(parent: Candidate, step_fn: StepFunction) -> list[Candidate]:
    heirs = []
    for token, log_prob in step_fn(parent.prefix):
        if math.isnan(log_prob) or log_prob > 0:
            raise ValueError(
                f"beam_search: expected a log-probability at most 0 for {token!r}; got {log_prob}"
            )
        if log_prob > -math.inf:
            heirs.append(Candidate((*parent.prefix, token), parent.log_prob + log_prob))
    return heirs


def cost(candidate: Candidate, alpha: float, penalty: str, coverage: Coverage | None) -> float:
    """What ranks a result, least first: the negative of its score."""
    normalised = candidate.log_prob / divisor(max(len(candidate.prefix) - 1, 1), alpha, penalty)
    return -normalised - (coverage.penalty(candidate.prefix) if coverage else 0.0)


def divisor(length: int, alpha: float, penalty: str) -> float:
    return {"none": 1.0, "average": float(length) ** alpha, "gnmt": ((5 + length) / 6) ** alpha}[penalty]


def check_arguments(start: Token, eos: Token, beam_size: int, max_len: int, alpha: float) -> None:
    if beam_size < 1 or max_len < 1:
        raise ValueError(
            f"beam_search: expected beam_size and max_len at least 1; got {beam_size}, {max_len}"
        )
    if not alpha >= 0:
        raise ValueError(f"beam_search: expected alpha at least 0; got {alpha}")
    if start == eos:
        raise ValueError(f"beam_search: expected start and eos to differ; got {start!r} for both")
