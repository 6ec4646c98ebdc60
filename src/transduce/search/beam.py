"""Beam search; greedy search is a beam of one."""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.config import Spec
from transduce.search.base import Beam, Growth, MaxLength, Search, best, check_search, near
from transduce.search.penalties import LengthPenalty


class BeamSearch(Search, name="beam"):
    """Keeps the `width` best unfinished hypotheses a sentence, and the best finished ones apart.

    Policy `top_k`: a hypothesis ends only if EOS ranks among the `width` best continuations of its
    step, so width 1 is greedy. Policy `pools`: every hypothesis's ending joins the finished ones.
    Finished hypotheses are ranked by sum / length penalty; ties keep insertion order.
    """

    def __init__(
        self,
        *,
        width: int = 5,
        n_best: int = 1,
        policy: Literal["top_k", "pools"] = "top_k",
        length_penalty: Spec[LengthPenalty] = Spec(LengthPenalty, "average"),
        max_length: MaxLength = MaxLength(),
    ) -> None:
        check_search(width, n_best, max_length)
        self.width, self.n_best, self.policy = width, n_best, policy
        self.length_penalty, self.max_length = length_penalty.build(), max_length

    def grow(self, beam: Beam, log_probs: Float[Tensor, "B J V"], eos: int) -> Growth:
        """One ordering of all continuations, best first, gives both what goes on and what ends."""
        greedy = self.width == 1 and self.policy == "top_k"  # when its one hypothesis ends, all is over
        spare = 0 if greedy else self.width  # at most so many of the best are endings
        token = near(log_probs, min(1 + spare, log_probs.shape[-1]))
        sums = beam.score.unsqueeze(-1) + log_probs.gather(-1, token)
        ranked, at = best(sums.flatten(1), min(self.width + spare, sums[0].numel()))
        parent, token = at // token.shape[-1], token.flatten(1).gather(1, at)
        ends = token == eos
        going = ends.to(torch.uint8).argsort(dim=1, stable=True)[:, : self.width]
        score = ranked.masked_fill(ends, -math.inf)
        ending = beam.score + log_probs[..., eos]
        if self.policy == "top_k":
            accepted = children(parent[:, : self.width], ends[:, : self.width], ending.shape[1])
            ending = ending.masked_fill(~accepted, -math.inf)
        return Growth(parent.gather(1, going), token.gather(1, going), score.gather(1, going), ending)


def children(parent: Int[Tensor, "B K"], chosen: Bool[Tensor, "B K"], parents: int) -> Bool[Tensor, "B J"]:
    """Which parents have a chosen child."""
    everyone = torch.arange(parents, device=parent.device).unsqueeze(1)
    return ((parent.unsqueeze(1) == everyone) & chosen.unsqueeze(1)).any(dim=2)
