"""Guided attention: weights that are drawn to given alignments."""

from jaxtyping import Bool, Float
from torch import Tensor

from transduce.errors import ConfigError
from transduce.model import Seq2Seq

LEAST = 1e-6  # of a weight, so that one outside a window costs much and not everything


def misalignment(
    weights: Float[Tensor, "B T L H S"], alignment: Float[Tensor, "B T S"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """-Σ_s A_ts log α_ts, summed over the target tokens t where `mask` is True (natural log).

    The cross-entropy of attention α against alignments A (Chen et al. 2016, arXiv:1607.01628, eq. 8). α is
    that of the last layer, its heads averaged; tokens that are aligned with nothing add nothing.
    """
    attention = weights[mask][:, -1].mean(dim=1)  # [tokens S]
    return -(alignment[mask] * attention.clamp_min(LEAST).log()).sum()


def check_guidance(model: Seq2Seq, guided_attention: float) -> None:
    """Refuses to guide what does not look. Raises ConfigError naming both options."""
    if guided_attention and not model.attends:
        raise ConfigError(
            f"train.guided_attention {guided_attention} draws attention to data.alignments, so "
            f"model.decoder.attention must be one whose weights say where it looks; this decoder's do not"
        )
