"""What a search has found: kept as places in a history of back-pointers, read back at the end."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.errors import ModelError
from transduce.search.base import Search
from transduce.search.hypotheses import Beam, Growth
from transduce.search.penalties import coverage_term


class Decoded(NamedTuple):
    """The n best of each sentence, best first. Rows past the last one hold a log_prob of -inf."""

    tokens: Int[Tensor, "B n T"]  # without BOS and EOS, zeros after `length`
    length: Int[Tensor, "B n"]
    log_prob: Float[Tensor, "B n"]  # the model's raw sum, EOS in where finished
    score: Float[Tensor, "B n"]  # what ranked it
    finished: Bool[Tensor, "B n"]
    token_log_probs: Float[Tensor, "B n T+1"]  # EOS's last where finished


class Pool(NamedTuple):
    """The best results so far: where each lies in the history, and what it is worth."""

    score: Float[Tensor, "B n"]
    log_prob: Float[Tensor, "B n"]
    length: Int[Tensor, "B n"]
    place: Int[Tensor, "B n"]
    finished: Bool[Tensor, "B n"]


class Worth(NamedTuple):
    """What ranks results: the score of each over the divisor of its length, and the coverage term added."""

    total: Float[Tensor, "B K"]
    divisor: float
    coverage: Float[Tensor, "B K"]


def worth(search: Search, beam: Beam, length: int) -> Worth:
    """What hypotheses would be worth as results of so many tokens, the end in."""
    divisor = float(search.length_penalty.divisor(float(max(length, 1))))
    coverage = search.coverage_penalty * coverage_term(beam.coverage)
    return Worth(beam.score / divisor + coverage, divisor, coverage)


class History(NamedTuple):
    """Back-pointers of one step, for all sentences. Beams never narrow, so a place stays a place later."""

    parent: Int[Tensor, "B K"]
    token: Int[Tensor, "B K"]
    log_prob: Float[Tensor, "B K"]


def replace_rows(pool: Pool, rows: Int[Tensor, " B"], new: Pool) -> Pool:
    """The pool of all sentences, with these rows as they now stand."""
    return Pool(*(old.index_copy(0, rows, leaf) for old, leaf in zip(pool, new, strict=True)))


def record(
    growth: Growth, log_prob: Float[Tensor, "B K"], rows: Int[Tensor, " B"], sentences: int
) -> History:
    """One step's back-pointers, spread over all sentences of the batch."""
    leaves = (growth.parent, growth.token, log_prob)
    if len(rows) == sentences:
        return History(*leaves)
    return History(*(leaf.new_zeros(sentences, leaf.shape[1]).index_copy(0, rows, leaf) for leaf in leaves))


def trace_back(pool: Pool, history: list[History]) -> Decoded:
    """Follows the back-pointers of every result at once, from its end to its beginning."""
    if not pool.log_prob[:, 0].gt(-math.inf).all():  # NaN is not greater than anything
        raise ModelError(
            "search: no hypothesis with a finite log-probability; does the model give NaN, "
            "or do the search's options leave it nothing to say?"
        )
    longest = int(pool.length.max())
    tokens = pool.length.new_zeros(*pool.length.shape, longest)
    sums = pool.log_prob.new_zeros(*pool.length.shape, longest + 2)  # after BOS, each symbol, EOS
    sums.scatter_(2, (pool.length + 1).unsqueeze(-1), pool.log_prob.unsqueeze(-1))
    place = pool.place
    for step in reversed(range(longest)):
        inside, back = step < pool.length, history[step]
        tokens[..., step] = back.token.gather(1, place).masked_fill(~inside, 0)
        sums[..., step + 1] = back.log_prob.gather(1, place).where(inside, sums[..., step + 1])
        place = back.parent.gather(1, place).where(inside, place)
    beyond = torch.arange(longest + 1, device=place.device) >= (pool.length + pool.finished).unsqueeze(-1)
    token_log_probs = sums.diff(dim=-1).masked_fill(beyond, 0.0)
    return Decoded(tokens, pool.length, pool.log_prob, pool.score, pool.finished, token_log_probs)
