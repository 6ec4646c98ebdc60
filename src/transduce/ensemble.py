"""Several models as one: the other object that a search drives."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.errors import ConfigError, unknown
from transduce.model import Seq2Seq
from transduce.types import Output, Source

Mean = Callable[[Float[Tensor, "M *batch V"], Float[Tensor, " M"]], Float[Tensor, "*batch V"]]


class Ensemble(nn.Module):
    """The mean of what several models say of the next token; an id means the same symbol to all of them.

    `mean` is that of probabilities, Σ_m w_m P_m, or of log-probabilities, ∏_m P_m^{w_m} normalised again.
    Weights are taken relative to their sum. `reads` tells which source each member reads: 0 is the source
    itself, n is `source.others[n - 1]`, the same sentences in the ids of another source vocabulary.

    Attention is [… 1 1 S]: the mean over the members that attend to source 0, of each its last layer with
    heads averaged. Raises ConfigError for weights or a mean that cannot be.
    """

    def __init__(
        self,
        members: Sequence[Seq2Seq],
        *,
        mean: str = "probabilities",
        weights: Sequence[float] | None = None,
        reads: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.members = cast("Sequence[Seq2Seq]", nn.ModuleList(members))
        self.weights = relative([1.0] * len(members) if weights is None else weights, len(members))
        self.reads = [0] * len(members) if reads is None else list(reads)
        if mean not in MEANS:
            raise ConfigError(f"ensemble: {unknown('mean', mean, MEANS)}")
        self.mean = MEANS[mean]
        looking = [read == 0 and member.attends for read, member in zip(self.reads, members, strict=True)]
        seen = [weight * looks for weight, looks in zip(self.weights, looking, strict=True)]
        self.attends = sum(seen) > 0
        self.shares = relative(seen if self.attends else [float(read == 0) for read in self.reads], len(seen))

    @property
    def device(self) -> torch.device:
        return self.members[0].device

    def forward(self, source: Source, tokens: Int[Tensor, "B T"], *, weights: bool = False) -> Output:
        """Log-probabilities [B T V] after each prefix of `tokens`, which begin with BOS."""
        return self._mean(
            [
                member(own, tokens, weights=weights and share > 0)
                for member, own, share in zip(self.members, self._sources(source), self.shares, strict=True)
            ]
        )

    def start(self, source: Source) -> tuple[Any, Any]:
        """Encodes for each member; gives the members' memories and their states."""
        sources = self._sources(source)
        started = [member.start(own) for member, own in zip(self.members, sources, strict=True)]
        memories, states = zip(*started, strict=True)
        return memories, states

    def step(
        self, memory: Any, state: Any, token: Int[Tensor, " N"], *, weights: bool = False
    ) -> tuple[Any, Output]:
        stepped = [
            member.step(own, before, token, weights=weights and share > 0)
            for member, own, before, share in zip(self.members, memory, state, self.shares, strict=True)
        ]
        states, outputs = zip(*stepped, strict=True)
        return states, self._mean(outputs)

    def _sources(self, source: Source) -> list[Source]:
        every = [source._replace(others=()), *source.others]
        return [every[read] for read in self.reads]

    def _mean(self, outputs: Sequence[Output]) -> Output:
        counted = [(o.log_probs, w) for o, w in zip(outputs, self.weights, strict=True) if w]
        log_probs, weights = zip(*counted, strict=True)
        seen = [
            share * output.weights[..., -1:, :, :].mean(dim=-2, keepdim=True)
            for output, share in zip(outputs, self.shares, strict=True)
            if output.weights is not None
        ]
        stacked = torch.stack(log_probs)
        return Output(
            self.mean(stacked, stacked.new_tensor(weights)), torch.stack(seen).sum(0) if seen else None
        )


def mean_of_probabilities(
    log_probs: Float[Tensor, "M *batch V"], weights: Float[Tensor, " M"]
) -> Float[Tensor, "*batch V"]:
    return (log_probs + along(weights, log_probs).log()).logsumexp(dim=0)


def mean_of_log_probabilities(
    log_probs: Float[Tensor, "M *batch V"], weights: Float[Tensor, " M"]
) -> Float[Tensor, "*batch V"]:
    return (log_probs * along(weights, log_probs)).sum(dim=0).log_softmax(dim=-1)


MEANS: Mapping[str, Mean] = {
    "probabilities": mean_of_probabilities,
    "log_probabilities": mean_of_log_probabilities,
}


def along(weights: Float[Tensor, " M"], log_probs: Float[Tensor, "M *batch V"]) -> Tensor:
    """A weight for each member, as a factor of all that it says."""
    return weights.view(-1, *[1] * (log_probs.dim() - 1))


def relative(weights: Sequence[float], members: int) -> list[float]:
    """The weights over their sum. Raises ConfigError unless there is one a member, and none below 0."""
    total = sum(weights)
    if len(weights) != members or not 0 < total < float("inf") or min(weights) < 0:
        raise ConfigError(
            f"ensemble: expected a weight of 0 or more for each of the {members} models, not all 0; "
            f"got {list(weights)}"
        )
    return [weight / total for weight in weights]
