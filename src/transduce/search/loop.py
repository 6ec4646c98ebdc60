"""The one decoding loop. It knows no model and no search, only their contracts."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.search.base import Beam, Growth, Search
from transduce.search.penalties import LengthPenalty
from transduce.search.results import Decoded, Pool, record, replace_rows, trace_back
from transduce.types import Output, Source, select

Transform = Callable[[Float[Tensor, "B K V"], Beam], Float[Tensor, "B K V"]]


@runtime_checkable
class Steps(Protocol):
    """What a search drives: a model, an ensemble, or a stub in a test."""

    def start(self, source: Source) -> tuple[Any, Any]: ...

    def step(
        self, memory: Any, state: Any, token: Tensor, *, weights: bool = False
    ) -> tuple[Any, Output]: ...


class Live(NamedTuple):
    """Everything of the sentences still being decoded: one row each, but for `state`."""

    rows: Int[Tensor, " B"]
    memory: Any
    limit: Int[Tensor, " B"]
    beam: Beam
    pool: Pool


@torch.no_grad()
def decode(
    model: Steps,
    source: Source,
    search: Search,
    *,
    bos: int,
    eos: int,
    max_length: Int[Tensor, " B"],
    transforms: Sequence[Transform] = (),
) -> Decoded:
    """Decodes a batch. `max_length` counts symbols without EOS; after it only EOS may follow.

    Finished sentences leave the batch. Raises ValueError where the model gives NaN, or no hypothesis at all.
    """
    live, state = begin(model, source, search, bos, max_length)
    results, history, limits = live.pool, [], set(max_length.tolist())
    for step in range(max(limits) + 1):
        state, output = model.step(live.memory, state, live.beam.token.flatten())
        log_probs = output.log_probs.unflatten(0, live.beam.score.shape)
        for transform in transforms:
            log_probs = transform(log_probs, live.beam)
        growth = search.grow(live.beam, log_probs, eos)
        pool = join(live, growth.completions, search.length_penalty, step, finished=True)
        if step in limits:
            pool = rescue(live._replace(pool=pool), search.length_penalty, step)
        live = live._replace(pool=poison(live, pool, growth, step))
        history.append(record(growth, live.rows, len(results.score)))
        done = settled(live, growth, search.length_penalty, step)
        *finished, unmoved = news(live, growth, done)
        if any(finished):
            results = replace_rows(results, live.rows, live.pool)
        if all(finished):
            break
        live = live._replace(limit=live.limit.where(~done, live.limit.clamp(max=step)))
        live, state = advance(live, state, growth, finished, unmoved)
    return trace_back(results, history)


def begin(
    model: Steps, source: Source, search: Search, bos: int, max_length: Int[Tensor, " B"]
) -> tuple[Live, Any]:
    """Encodes, and gives every sentence a beam of one hypothesis and an empty pool."""
    memory, state = model.start(source)
    token = torch.full((len(max_length), 1), bos, device=max_length.device)
    beam = Beam(torch.zeros_like(token, dtype=torch.float64), token)
    nothing = beam.score.new_full((len(max_length), search.n_best), -math.inf)
    zero = torch.zeros_like(nothing, dtype=torch.long)
    pool = Pool(nothing, nothing, zero, zero, zero.bool())
    return Live(torch.arange(len(token), device=token.device), memory, max_length, beam, pool), state


def join(
    live: Live, log_prob: Float[Tensor, "B K"], penalty: LengthPenalty, step: int, *, finished: bool
) -> Pool:
    """The n best of the pool and of K hypotheses of `step` symbols; earlier ones win ties."""
    log_prob = log_prob.masked_fill((step > live.limit).unsqueeze(1), -math.inf)
    length = torch.full_like(log_prob, step, dtype=torch.long)
    place = torch.arange(log_prob.shape[1], device=log_prob.device).expand_as(length)
    score = log_prob / penalty.divisor(float(max(step + finished, 1)))
    new = Pool(score, log_prob, length, place, torch.full_like(length, finished, dtype=torch.bool))
    both = [torch.cat(pair, dim=1) for pair in zip(live.pool, new, strict=True)]
    order = both[0].argsort(dim=1, descending=True, stable=True)[:, : live.pool.score.shape[1]]
    return Pool(*(leaf.gather(1, order) for leaf in both))


def rescue(live: Live, penalty: LengthPenalty, step: int) -> Pool:
    """Sentences at their limit of which nothing ended in time give their active hypotheses, unfinished."""
    stranded = (step == live.limit) & ~live.pool.finished[:, 0]
    active = live.beam.score.masked_fill(~stranded.unsqueeze(1), -math.inf)
    return join(live, active, penalty, step, finished=False)


def poison(live: Live, pool: Pool, growth: Growth, step: int) -> Pool:
    """A NaN in a sentence's beam makes its results NaN, as one that ends does; `trace_back` refuses them."""
    bad = growth.score.isnan().any(dim=1) & (step <= live.limit)
    return pool._replace(log_prob=pool.log_prob.masked_fill(bad.unsqueeze(1), math.nan))


def settled(live: Live, growth: Growth, penalty: LengthPenalty, step: int) -> Bool[Tensor, " B"]:
    """Which sentences are done.

    Exact early stop: a sentence is done when no active hypothesis, were it to lose nothing more until
    the greatest length, would rank above the n-th result.
    """
    bound = growth.score[:, 0] / penalty.divisor(live.limit.double() + 1)
    return (step >= live.limit) | (live.pool.score[:, -1] >= bound) | live.pool.log_prob[:, 0].isnan()


def news(live: Live, growth: Growth, done: Bool[Tensor, " B"]) -> list[bool]:
    """Which sentences are done, and whether every hypothesis stayed in its place: a step's one host read."""
    if growth.parent.shape != live.beam.score.shape:
        return [*done.tolist(), False]
    still = torch.arange(growth.parent.shape[1], device=done.device)
    return torch.cat([done, (growth.parent == still).all().unsqueeze(0)]).tolist()


def advance(live: Live, state: Any, growth: Growth, finished: list[bool], unmoved: bool) -> tuple[Live, Any]:
    """Moves the state with its hypotheses, and lets sentences leave once an eighth of them is done."""
    sentences, parents = live.beam.score.shape
    moved = torch.arange(sentences, device=growth.parent.device).unsqueeze(1) * parents + growth.parent
    live = live._replace(beam=Beam(growth.score, growth.token, growth.extra))
    if 8 * sum(finished) >= sentences:
        staying = [row for row, is_done in enumerate(finished) if not is_done]
        rows = torch.tensor(staying, device=moved.device)
        return select(live, rows), select(state, moved[rows].flatten())
    return live, state if unmoved else select(state, moved.flatten())
