"""Beam search; greedy search is a beam of one."""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.config import Spec
from transduce.search.base import Beam, Growth, MaxLength, Search, best, check_search
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

    def grow(self, beam: Beam, log_probs: Float[Tensor, "B K V"], eos: int) -> Growth:
        width, vocab = log_probs.shape[1:]
        ending = beam.score + log_probs[..., eos]
        going = log_probs.index_fill(-1, torch.tensor([eos], device=log_probs.device), -math.inf)
        local, token = best(going, min(width, vocab))  # a parent has at most `width` heirs
        sums = beam.score.unsqueeze(-1) + local
        score, at = best(sums.flatten(1), width)
        parent = at // local.shape[-1]
        token = token.flatten(1).gather(1, at)
        if self.policy == "top_k":
            place = torch.arange(width, device=at.device) * vocab + eos
            accepted = among_best(score, parent * vocab + token, ending, place.expand_as(ending))
            ending = ending.masked_fill(~accepted, -math.inf)
            if width == 1:  # the one hypothesis has ended: there is nothing to refill the beam with
                score = score.masked_fill(accepted, -math.inf)
        return Growth(parent, token, score, ending)


def among_best(
    score: Float[Tensor, "B K"],
    score_place: Int[Tensor, "B K"],
    ending: Float[Tensor, "B K"],
    ending_place: Int[Tensor, "B K"],
) -> Bool[Tensor, "B K"]:
    """Which endings rank among the K best of all continuations; equals rank by place in the flat list."""
    by_place = torch.cat([score_place, ending_place], dim=1).argsort(dim=1)
    values = torch.cat([score, ending], dim=1).gather(1, by_place)
    ranked = by_place.gather(1, values.argsort(dim=1, descending=True, stable=True))
    rank = ranked.argsort(dim=1)
    return rank[:, score.shape[1] :] < score.shape[1]
