"""What a watched search can tell of its steps, as plain values."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.search.base import Search, best
from transduce.search.loop import Moment
from transduce.search.phrases import hold_all
from transduce.search.results import Worth, worth

TOO_LONG = "longer than max_length"
HOPELESS = "could not win"
INCOMPLETE = "lacks a phrase"
TWICE = "written by another group"
CROWDED = "not among the n best"


class Rank(NamedTuple):
    """What ranks a hypothesis: total = sum / divisor + coverage."""

    total: float
    sum: float
    divisor: float
    coverage: float


class Option(NamedTuple):
    """A token that could follow a hypothesis.

    `sum` is None where a rule forbids it. One that goes on is `child`, a place in the next beam; one that
    does not has a `reason`; the end of a hypothesis that joined the results has neither.
    """

    token: int
    log_prob: float
    sum: float | None
    child: int | None
    reason: str | None


class Active(NamedTuple):
    """A hypothesis of the beam: as it stands, as it ends where it may, and what could follow it."""

    place: int
    log_prob: float
    rank: Rank
    ending: Rank | None
    entropy: float
    options: list[Option]


class Ending(NamedTuple):
    """A result: the step and place of the hypothesis that it was, and whether it ended there."""

    step: int
    place: int
    finished: bool


class Sight(NamedTuple):
    """One step of one sentence; `children` hold (parent, token) of each place of a next beam."""

    step: int
    beam: list[Active]
    children: dict[int, tuple[int, int]]
    results: list[Ending]


class Sights:
    """Turns moments of a search into sights, with the `alternatives` likeliest tokens of each hypothesis."""

    def __init__(self, search: Search, eos: int, alternatives: int) -> None:
        self.search, self.eos, self.alternatives = search, eos, alternatives

    def __call__(self, moment: Moment) -> Iterator[tuple[int, Sight]]:
        """Every sentence that was not over before, by its row in the whole batch."""
        step, growth, live = moment.step, moment.growth, moment.live
        scene = Scene(
            moment,
            standing=worth(self.search, moment.before, step),
            ending=worth(self.search, live.beam._replace(score=growth.completions), step + 1),
            accepted=self.search.results(live.beam, growth.completions).isfinite(),
            entropy=torch.special.entr(moment.log_probs.double().softmax(dim=-1)).sum(dim=-1),
            likely=best(moment.log_probs, min(self.alternatives, moment.log_probs.shape[-1]))[1],
            forbidden=self._forbidden(moment),
        )
        for row, number in enumerate(live.rows.tolist()):
            if step <= live.limit[row]:
                yield number, Sentence(scene, row, self.eos, self.search.passed_over).sight()

    def _forbidden(self, moment: Moment) -> list[tuple[str, Bool[Tensor, "B J V"]]]:
        """Which tokens may not follow, under the reason why."""
        beam, size = moment.live.beam, moment.values.shape[-1]
        reasons = list(self.search.rules.forbidden(moment.log_probs, beam, self.eos))
        if beam.asked.phrases.shape[1]:
            is_end = torch.arange(size, device=beam.tokens.device) == self.eos
            reasons.append((INCOMPLETE, ~hold_all(beam).unsqueeze(-1) & is_end))
        return reasons


class Scene(NamedTuple):
    """A moment, and what can be reckoned of it for all sentences at once."""

    moment: Moment
    standing: Worth
    ending: Worth
    accepted: Bool[Tensor, "B J"]
    entropy: Float[Tensor, "B J"]
    likely: Int[Tensor, "B J n"]
    forbidden: list[tuple[str, Bool[Tensor, "B J V"]]]


class Sentence:
    """One row of a scene."""

    def __init__(self, scene: Scene, row: int, eos: int, passed_over: str) -> None:
        self.scene, self.row, self.eos, self.passed_over = scene, row, eos, passed_over
        growth, pool = scene.moment.growth, scene.moment.live.pool
        self.step, self.over = scene.moment.step, bool(scene.moment.done[row])
        self.sums: list[float] = scene.moment.before.score[row].tolist()
        self.endings: list[float] = growth.completions[row].tolist()
        grown = zip(growth.parent[row].tolist(), growth.token[row].tolist(), strict=True)
        self.scores: list[float] = growth.score[row].tolist()
        self.children = {place: one for place, one in enumerate(grown) if math.isfinite(self.scores[place])}
        kept = (leaf[row].tolist() for leaf in (pool.length, pool.place, pool.finished, pool.score))
        self.results = [Ending(*ending) for *ending, score in zip(*kept, strict=True) if math.isfinite(score)]

    def sight(self) -> Sight:
        beam = [self._active(place) for place, value in enumerate(self.sums) if math.isfinite(value)]
        return Sight(self.step, beam, self.children, self.results)

    def _active(self, place: int) -> Active:
        scene, at = self.scene, (self.row, place)
        ends = math.isfinite(self.endings[place])
        return Active(
            place,
            scene.moment.before.log_prob[at].item(),
            rank(scene.standing, self.sums[place], at),
            rank(scene.ending, self.endings[place], at) if ends else None,
            scene.entropy[at].item(),
            self._options(place, ends),
        )

    def _options(self, place: int, ends: bool) -> list[Option]:
        """The likeliest tokens and all that were chosen, likeliest first."""
        mine = {token: child for child, (parent, token) in self.children.items() if parent == place}
        tokens = list(
            dict.fromkeys([*self.scene.likely[self.row, place].tolist(), *mine, *[self.eos] * ends])
        )
        log_probs = self.scene.moment.log_probs[self.row, place, tokens].tolist()
        values = self.scene.moment.values[self.row, place, tokens].double().tolist()
        options = [
            self._option(place, token, mine.get(token), log_prob, value)
            for token, log_prob, value in zip(tokens, log_probs, values, strict=True)
            if math.isfinite(log_prob)
        ]
        return sorted(options, key=lambda option: -option.log_prob)

    def _option(self, place: int, token: int, child: int | None, log_prob: float, value: float) -> Option:
        allowed = self.sums[place] + value if math.isfinite(value) else None
        if child is not None:
            reason = (TOO_LONG if self.step >= self._limit() else HOPELESS) if self.over else None
            return Option(token, log_prob, self.scores[child], None if self.over else child, reason)
        if token == self.eos and math.isfinite(self.endings[place]):
            return Option(token, log_prob, self.endings[place], None, self._why_no_result(place))
        why = (reason for reason, mask in self.scene.forbidden if mask[self.row, place, token])
        return Option(token, log_prob, allowed, None, next(why, self.passed_over))

    def _why_no_result(self, place: int) -> str | None:
        if not self.scene.accepted[self.row, place]:
            return TWICE
        return None if Ending(self.step, place, True) in self.results else CROWDED

    def _limit(self) -> int:
        return int(self.scene.moment.live.limit[self.row])


def rank(worth: Worth, total: float, at: tuple[int, int]) -> Rank:
    return Rank(worth.total[at].item(), total, worth.divisor, worth.coverage[at].item())
