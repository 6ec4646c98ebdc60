"""The one decoding loop. It knows no model and no search, only their contracts."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.search.base import Search
from transduce.search.hypotheses import Asked, Beam, Growth
from transduce.search.results import Decoded, Pool, record, replace_rows, trace_back, worth
from transduce.types import Output, Source, select

Transform = Callable[[Float[Tensor, "B K V"], Beam], Float[Tensor, "B K V"]]


@runtime_checkable
class Steps(Protocol):
    """What a search drives: a model, an ensemble, or a stub in a test.

    The log-probabilities of a step are the caller's own, to write to.
    """

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


class Moment(NamedTuple):
    """One step as a watcher is shown it: the beam before its attention, and what has become of it."""

    step: int
    before: Beam
    log_probs: Float[Tensor, "B J V"]
    values: Float[Tensor, "B J V"]  # as rules left them
    growth: Growth
    live: Live
    done: Bool[Tensor, " B"]


def unwatched(moment: Moment) -> None:
    """What watches a decoding that nobody wants to see."""


@torch.no_grad()
def decode(
    model: Steps,
    source: Source,
    search: Search,
    *,
    bos: int,
    eos: int,
    max_length: Int[Tensor, " B"],
    asked: Asked | None = None,
    transforms: Sequence[Transform] = (),
    watch: Callable[[Moment], None] = unwatched,
) -> Decoded:
    """Decodes a batch. `max_length` counts symbols without EOS; after it only EOS may follow.

    Finished sentences leave the batch; `watch` is shown every step. Raises ValueError where the model gives
    NaN, or no hypothesis at all.
    """
    live, state = begin(model, source, search, bos, max_length, asked)
    results, history, limits = live.pool, [], set(max_length.tolist())
    for step in range(max(limits) + 1):
        token = live.beam.token.flatten()
        state, output = model.step(live.memory, state, token, weights=search.coverage_penalty > 0)
        log_probs = output.log_probs.unflatten(0, live.beam.score.shape)
        for transform in transforms:
            log_probs = transform(log_probs, live.beam)
        beam = look(live.beam, output.weights)
        values = search.rules(log_probs, beam, eos)
        growth = search.grow(beam, values, eos)
        ended = beam._replace(score=growth.completions, log_prob=beam.log_prob + log_probs[..., eos])
        pool = join(live, ended, search, step, finished=True)
        if step in limits:
            pool = rescue(live._replace(pool=pool), growth, search, step)
        before, live = live.beam, live._replace(pool=poison(live, pool, growth, step), beam=beam)
        log_prob = model_sum(beam, growth, log_probs)
        history.append(record(growth, log_prob, live.rows, len(results.score)))
        done = settled(live, growth, search, step)
        watch(Moment(step, before, log_probs, values, growth, live, done))
        *finished, unmoved = news(live, growth, done)
        if any(finished):
            results = replace_rows(results, live.rows, live.pool)
        if all(finished):
            break
        live = live._replace(limit=live.limit.where(~done, live.limit.clamp(max=step)))
        live, state = advance(live, state, growth, log_prob, finished, unmoved)
    return trace_back(results, history)


def begin(
    model: Steps,
    source: Source,
    search: Search,
    bos: int,
    max_length: Int[Tensor, " B"],
    asked: Asked | None,
) -> tuple[Live, Any]:
    """Encodes, and gives every sentence as many hypotheses as the search begins with, and an empty pool."""
    memory, state = model.start(source)
    rows = torch.arange(len(max_length), device=max_length.device)
    if search.copies > 1:
        state = select(state, rows.repeat_interleave(search.copies))
    score = torch.zeros(len(rows), search.copies, dtype=torch.float64, device=rows.device)
    padding = ~source.mask if search.coverage_penalty > 0 else source.mask[:, :0]
    coverage = padding.double().unsqueeze(1).expand(-1, search.copies, -1)
    tokens = torch.full((*score.shape, 1), bos, device=rows.device)
    beam = Beam(score, score, tokens, coverage, asked or Asked.nothing(source.mask.sum(dim=1)))
    nothing = score.new_full((len(rows), search.kept), -math.inf)
    zero = torch.zeros_like(nothing, dtype=torch.long)
    return Live(rows, memory, max_length, beam, Pool(nothing, nothing, zero, zero, zero.bool())), state


def look(beam: Beam, weights: Float[Tensor, "N L H S"] | None) -> Beam:
    """The beam with this step's attention, heads of the last layer averaged, in its coverage."""
    if weights is None:
        return beam
    seen = weights[:, -1].mean(dim=1).double().unflatten(0, beam.score.shape)
    return beam._replace(coverage=beam.coverage + seen)


def join(live: Live, ended: Beam, search: Search, step: int, *, finished: bool) -> Pool:
    """The best of the pool and of these hypotheses of `step` symbols; earlier ones win ties."""
    score = search.results(ended, ended.score).masked_fill((step > live.limit).unsqueeze(1), -math.inf)
    log_prob = ended.log_prob.masked_fill(score.isneginf(), -math.inf)
    score = worth(search, ended._replace(score=score), step + finished).total
    length = torch.full_like(score, step, dtype=torch.long)
    place = torch.arange(score.shape[1], device=score.device).expand_as(length)
    new = Pool(score, log_prob, length, place, torch.full_like(length, finished, dtype=torch.bool))
    both = [torch.cat(pair, dim=1) for pair in zip(live.pool, new, strict=True)]
    order = both[0].argsort(dim=1, descending=True, stable=True)[:, : live.pool.score.shape[1]]
    return Pool(*(leaf.gather(1, order) for leaf in both))


def rescue(live: Live, growth: Growth, search: Search, step: int) -> Pool:
    """Sentences at their limit give their active hypotheses, unfinished, where nothing ended in time.

    Independent ones are given beside those that ended.
    """
    alone = live.pool.finished[:, 0].logical_not() | search.independent
    stranded = alone & live.limit.eq(step)
    active = stranded.unsqueeze(1) & growth.completions.isneginf()
    unfinished = live.beam._replace(score=live.beam.score.masked_fill(~active, -math.inf))
    return join(live, unfinished, search, step, finished=False)


def model_sum(beam: Beam, growth: Growth, log_probs: Float[Tensor, "B J V"]) -> Float[Tensor, "B K"]:
    """The model's own sum of each grown hypothesis, whatever ranked it."""
    place = growth.parent * log_probs.shape[-1] + growth.token
    return beam.log_prob.gather(1, growth.parent) + log_probs.flatten(1).gather(1, place)


def poison(live: Live, pool: Pool, growth: Growth, step: int) -> Pool:
    """A NaN in a sentence's beam makes its results NaN, as one that ends does; `trace_back` refuses them."""
    bad = growth.score.isnan().any(dim=1) & (step <= live.limit)
    return pool._replace(log_prob=pool.log_prob.masked_fill(bad.unsqueeze(1), math.nan))


def settled(live: Live, growth: Growth, search: Search, step: int) -> Bool[Tensor, " B"]:
    """Which sentences are done.

    Exact early stop: a sentence is done when no active hypothesis, were it to lose nothing more until
    the greatest length, would rank above the last result that is kept. Coverage could at best cost nothing.
    """
    bound = growth.score.amax(dim=1) / search.length_penalty.divisor(live.limit.double() + 1)
    return (step >= live.limit) | (live.pool.score[:, -1] >= bound) | live.pool.log_prob[:, 0].isnan()


def news(live: Live, growth: Growth, done: Bool[Tensor, " B"]) -> list[bool]:
    """Which sentences are done, and whether every hypothesis stayed in its place: a step's one host read."""
    if growth.parent.shape != live.beam.score.shape:
        return [*done.tolist(), False]
    still = torch.arange(growth.parent.shape[1], device=done.device)
    return torch.cat([done, (growth.parent == still).all().unsqueeze(0)]).tolist()


def advance(
    live: Live,
    state: Any,
    growth: Growth,
    log_prob: Float[Tensor, "B K"],
    finished: list[bool],
    unmoved: bool,
) -> tuple[Live, Any]:
    """Moves all that hypotheses carry, and lets sentences leave once an eighth of them is done."""
    sentences, parents = live.beam.score.shape
    moved = torch.arange(sentences, device=growth.parent.device).unsqueeze(1) * parents + growth.parent
    carried = (state, live.beam.tokens.flatten(0, 1), live.beam.coverage.flatten(0, 1))
    live, token = live._replace(beam=live.beam._replace(score=growth.score, log_prob=log_prob)), growth.token
    if 8 * sum(finished) >= sentences:
        staying = [row for row, is_done in enumerate(finished) if not is_done]
        live, moved, token = select((live, moved, token), torch.tensor(staying, device=moved.device))
        unmoved = False
    state, tokens, coverage = carried if unmoved else select(carried, moved.flatten())
    tokens, coverage = (leaf.unflatten(0, token.shape) for leaf in (tokens, coverage))
    tokens = torch.cat([tokens, token.unsqueeze(-1)], dim=-1)
    return live._replace(beam=live.beam._replace(tokens=tokens, coverage=coverage)), state
