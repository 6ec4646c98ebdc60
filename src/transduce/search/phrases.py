"""Phrases that an output must hold: a beam shared out evenly by how much of them is written.

Dynamic beam allocation (Post & Vilar 2018, arXiv:1804.06609). A hypothesis's bank is the number of
phrase tokens it has written: whole phrases, and the longest beginning of one that it ends with. Besides
the best continuations, each step tries the next token of every phrase still missing, and the places of
the beam go round the banks, the fullest first. So the fullest bank fills by a token a step, and when as
many steps as phrase tokens are over there is a hypothesis that holds them all. A phrase counts wherever
it stands; two may overlap.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from transduce.search.hypotheses import Beam
from transduce.search.rules import NOTHING, latest


class Ranked(NamedTuple):
    """Continuations of a beam, best first."""

    score: Float[Tensor, "B n"]
    parent: Int[Tensor, "B n"]
    token: Int[Tensor, "B n"]


def held(beam: Beam) -> Bool[Tensor, "B K C"]:
    """Which phrases stand somewhere in each hypothesis; the fillings of shorter lists always do."""
    phrases = beam.asked.phrases
    windows = pad(beam.tokens, (0, phrases.shape[2] - 1), value=NOTHING).unfold(-1, phrases.shape[2], 1)
    fits = windows.unsqueeze(3) == phrases[:, None, None]  # [B K T C M]
    return (fits | (phrases < 0)[:, None, None]).all(dim=-1).any(dim=2)


def hold_all(beam: Beam) -> Bool[Tensor, "B K"]:
    """Which hypotheses hold every phrase."""
    return held(beam).all(dim=-1)


def hold_back(values: Float[Tensor, "B K V"], beam: Beam, eos: int) -> Float[Tensor, "B K V"]:
    """The values without an end for hypotheses that lack a phrase."""
    is_end = torch.arange(values.shape[-1], device=values.device) == eos
    return values.masked_fill(~hold_all(beam).unsqueeze(-1) & is_end, -math.inf)


def begun(tail: Int[Tensor, "B n M"], phrases: Int[Tensor, "B C M"]) -> Int[Tensor, "B n C"]:
    """How many tokens of each phrase stand at the very end, the most that fit, given the last M tokens."""
    size = phrases.shape[2]
    count = torch.zeros(*tail.shape[:2], phrases.shape[1], dtype=torch.long, device=tail.device)
    for length in range(1, size + 1):
        start = phrases[:, None, :, :length]
        fits = (tail[:, :, None, size - length :] == start).all(dim=-1)
        count = count.masked_fill(fits, length)
    return count


def in_banks(beam: Beam, values: Float[Tensor, "B K V"], likely: Int[Tensor, "B K W"]) -> Ranked:
    """Continuations by these tokens and by the missing phrases' next, in the order in which they are kept."""
    phrases = beam.asked.phrases
    sizes, held_before = (phrases >= 0).sum(dim=-1).unsqueeze(1), held(beam)
    tail = latest(beam.tokens, phrases.shape[2])
    token = torch.cat([likely, missing(phrases, begun(tail, phrases), held_before)], dim=-1)  # [B K n]
    twice = (token.unsqueeze(-1) == token.unsqueeze(-2)).tril(-1).any(dim=-1) | (token < 0)
    token = token.clamp(min=0)
    score = (beam.score.unsqueeze(-1) + values.gather(-1, token)).masked_fill(twice, -math.inf).flatten(1)
    tails = torch.cat(
        [tail[..., 1:].unsqueeze(2).expand(-1, -1, token.shape[-1], -1), token.unsqueeze(-1)], -1
    )
    fits = begun(tails.flatten(1, 2), phrases)
    holds = held_before.repeat_interleave(token.shape[-1], dim=1) | (fits == sizes)
    bank = sizes.where(holds, 0).sum(dim=-1) + fits.masked_fill(holds, 0).amax(dim=-1)
    order = round_robin(score, bank)
    ranked = score.gather(1, order), order // token.shape[-1], token.flatten(1).gather(1, order)
    return Ranked(*ranked)


def missing(
    phrases: Int[Tensor, "B C M"], count: Int[Tensor, "B K C"], holds: Bool[Tensor, "B K C"]
) -> Int[Tensor, "B K C"]:
    """The token that each phrase needs next, -1 where a hypothesis holds the phrase."""
    place = count.clamp(max=phrases.shape[2] - 1).unsqueeze(-1)
    following = phrases.unsqueeze(1).expand(-1, count.shape[1], -1, -1).gather(-1, place).squeeze(-1)
    return following.masked_fill(holds, -1)


def round_robin(score: Float[Tensor, "B n"], bank: Int[Tensor, "B n"]) -> Int[Tensor, "B n"]:
    """Places in the order: the best of each bank, the fullest bank first, then the second best, and so on."""
    order = score.argsort(dim=1, descending=True, stable=True)
    bank = bank.gather(1, order)
    before = (bank.unsqueeze(2) == bank.unsqueeze(1)).tril(-1).sum(dim=2)  # better ones of the same bank
    turn = before * (bank.amax() + 1) - bank
    turn = turn.masked_fill(score.gather(1, order).isneginf(), torch.iinfo(torch.long).max)
    return order.gather(1, turn.argsort(dim=1, stable=True))
