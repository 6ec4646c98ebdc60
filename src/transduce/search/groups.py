"""Diverse beam search: groups of a beam that are kept apart."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.errors import ConfigError
from transduce.search.hypotheses import Beam, Growth

Grow = Callable[[Float[Tensor, "B J"], Float[Tensor, "B J V"], int], Growth]


def grow_in_groups(
    grow: Grow,
    score: Float[Tensor, "B J"],
    values: Float[Tensor, "B J V"],
    eos: int,
    diversity: float,
    groups: int,
) -> Growth:
    """Each group's growth in turn, `diversity` taken from a token for every time that it was just chosen.

    Hamming diversity (Vijayakumar et al. 2018, arXiv:1610.02424, §4.1): hypotheses of the groups before
    are counted, not tokens of earlier steps.
    """
    said, grown = values.new_zeros(len(values), 1, values.shape[-1]), []
    for scores, part in zip(score.chunk(groups, dim=1), values.chunk(groups, dim=1), strict=True):
        growth = grow(scores, part - diversity * said, eos)
        chosen = growth.score.isfinite().to(values.dtype)
        said = said.scatter_add(-1, growth.token.unsqueeze(1), chosen.unsqueeze(1))
        grown.append(growth._replace(parent=growth.parent + len(grown) * scores.shape[1]))
    return Growth(*(torch.cat(leaves, dim=1) for leaves in zip(*grown, strict=True)))


def distinct(beam: Beam, score: Float[Tensor, "B K"]) -> Float[Tensor, "B K"]:
    """The scores, but -inf for what another group wrote too, with a better score or in an earlier place."""
    place = torch.arange(score.shape[1], device=score.device)
    equal = (beam.tokens.unsqueeze(2) == beam.tokens.unsqueeze(1)).all(dim=-1)  # [B K K]
    one, other = score.unsqueeze(2), score.unsqueeze(1)
    behind = (other > one) | ((other == one) & (place < place.unsqueeze(1)))
    return score.masked_fill((equal & behind).any(dim=2), -math.inf)


def check_groups(width: int, groups: int, diversity: float) -> None:
    """Refuses a beam that cannot be parted, and groups that nothing keeps apart."""
    if groups < 1 or width % groups:
        raise ConfigError(
            f"search: expected groups that part the width evenly; got width {width}, groups {groups}"
        )
    if not 0 <= diversity < math.inf or (groups > 1) != (diversity > 0):
        raise ConfigError(
            f"search: expected diversity above 0 with two groups or more, and only then; "
            f"got groups {groups}, diversity {diversity}"
        )
