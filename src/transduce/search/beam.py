"""Beam search; greedy search is a beam of one."""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.config import Spec
from transduce.errors import ConfigError
from transduce.search.base import Search, best, check_sizes, near
from transduce.search.groups import check_groups, distinct, grow_in_groups
from transduce.search.hypotheses import Beam, Growth
from transduce.search.penalties import LengthPenalty, check_coverage
from transduce.search.phrases import Ranked, hold_all, hold_back, in_banks
from transduce.search.rules import MaxLength, MinLength, Rules


class BeamSearch(Search, name="beam"):
    """Keeps the `width` best unfinished hypotheses a sentence, and the best finished ones apart.

    Policy `top_k`: a hypothesis ends only if EOS ranks among the `width` best continuations of its
    step, so width 1 is greedy. Policy `pools`: every hypothesis's ending joins the finished ones.
    Finished hypotheses are ranked by sum / length penalty + coverage penalty; ties keep insertion order.

    `groups` part the beam, and each is told not to say what the groups before it say, by `diversity` a
    time (Vijayakumar et al. 2018, arXiv:1610.02424). `distinct: strings` gives n best that differ as
    text too, where several token sequences spell one.
    """

    independent = False
    passed_over = "outside the beam"

    def __init__(
        self,
        *,
        width: int = 5,
        n_best: int = 1,
        policy: Literal["top_k", "pools"] = "top_k",
        length_penalty: Spec[LengthPenalty] = Spec(LengthPenalty, "average"),
        coverage_penalty: float = 0.0,
        min_length: MinLength = MinLength(),
        max_length: MaxLength = MaxLength(),
        no_repeat_ngram: int = 0,
        repetition_penalty: float = 1.0,
        without: list[str] = [],  # noqa: B006 (never changed)
        groups: int = 1,
        diversity: float = 0.0,
        distinct: Literal["tokens", "strings"] = "tokens",
    ) -> None:
        check_sizes(width, n_best)
        check_groups(width, groups, diversity)
        self.width, self.n_best, self.policy = width, n_best, policy
        self.texts_differ = distinct == "strings"
        self.kept = width if self.texts_differ else n_best
        self.copies = self.groups = groups
        self.diversity, self.no_repeat_ngram = diversity, no_repeat_ngram
        self.length_penalty, self.coverage_penalty = length_penalty.build(), check_coverage(coverage_penalty)
        self.rules = Rules(min_length, max_length, no_repeat_ngram, repetition_penalty, without)
        self.max_length = max_length

    def grow(self, beam: Beam, values: Float[Tensor, "B J V"], eos: int) -> Growth:
        if beam.asked.phrases.shape[1]:
            values = hold_back(values, beam, eos)
            ranked = in_banks(beam, values, best(values, min(1 + self.width, values.shape[-1]))[1])
            return part(ranked, beam.score + values[..., eos], self.width, self.policy, eos)
        if self.groups > 1:
            return grow_in_groups(self._grow, beam.score, values, eos, self.diversity, self.groups)
        return self._grow(beam.score, values, eos)

    def _grow(self, score: Float[Tensor, "B J"], values: Float[Tensor, "B J V"], eos: int) -> Growth:
        """One ordering of all continuations, best first, gives both what goes on and what ends."""
        width = self.width // self.groups
        greedy = width == 1 and self.policy == "top_k"  # when its one hypothesis ends, all is over
        spare = 0 if greedy else width  # at most so many of the best are endings
        token = near(values, min(1 + spare, values.shape[-1]))
        sums = score.unsqueeze(-1) + values.gather(-1, token)
        ranked, at = best(sums.flatten(1), min(width + spare, sums[0].numel()))
        order = Ranked(ranked, at // token.shape[-1], token.flatten(1).gather(1, at))
        return part(order, score + values[..., eos], width, self.policy, eos)

    def results(self, beam: Beam, score: Float[Tensor, "B K"]) -> Float[Tensor, "B K"]:
        if beam.asked.phrases.shape[1]:
            score = score.masked_fill(~hold_all(beam), -math.inf)
        return distinct(beam, score) if self.groups > 1 else score

    def check_phrases(self) -> None:
        if self.width == 1 or self.groups > 1 or self.no_repeat_ngram:
            raise ConfigError(
                "search: phrases need width 2 or more, groups 1 and no_repeat_ngram 0; got phrases with "
                f"width {self.width}, groups {self.groups}, no_repeat_ngram {self.no_repeat_ngram}"
            )


def part(ranked: Ranked, ending: Float[Tensor, "B J"], width: int, policy: str, eos: int) -> Growth:
    """Parts continuations, best first, into the next beam and the hypotheses that end."""
    ends = ranked.token == eos
    going = ends.to(torch.uint8).argsort(dim=1, stable=True)[:, :width]
    score = ranked.score.masked_fill(ends, -math.inf)
    if policy == "top_k":
        accepted = children(ranked.parent[:, :width], ends[:, :width], ending.shape[1])
        ending = ending.masked_fill(~accepted, -math.inf)
    parent, token = ranked.parent.gather(1, going), ranked.token.gather(1, going)
    return Growth(parent, token, score.gather(1, going), ending)


def children(parent: Int[Tensor, "B K"], chosen: Bool[Tensor, "B K"], parents: int) -> Bool[Tensor, "B J"]:
    """Which parents have a chosen child."""
    everyone = torch.arange(parents, device=parent.device).unsqueeze(1)
    return ((parent.unsqueeze(1) == everyone) & chosen.unsqueeze(1)).any(dim=2)
