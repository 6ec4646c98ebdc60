"""Sampling: outputs drawn by their probability, rather than the likeliest."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.errors import ConfigError
from transduce.search.base import Search, best, check_sizes
from transduce.search.draws import uniform
from transduce.search.hypotheses import Beam, Growth
from transduce.search.penalties import NoPenalty
from transduce.search.rules import MaxLength, MinLength, Rules


class Sampling(Search, name="sampling"):
    """Draws `n_best` outputs a line, each on its own, so that two may be equal; likelier ones come first.

    A token is drawn with probability p^(1/temperature), normalised, among the `top_k` likeliest (Fan et al.
    2018, arXiv:1805.04833; 0: all), and among these only as many of the likeliest as together have `top_p`
    (Holtzman et al. 2020, arXiv:1904.09751; 1: all). `log_prob` stays the model's own.

    What is drawn for a line depends on `seed`, the line's place in the input and its own text alone.
    """

    independent = True
    passed_over = "not drawn"
    texts_differ = False
    coverage_penalty = 0.0

    def __init__(
        self,
        *,
        n_best: int = 1,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 1,
        min_length: MinLength = MinLength(),
        max_length: MaxLength = MaxLength(),
        no_repeat_ngram: int = 0,
        repetition_penalty: float = 1.0,
        without: list[str] = [],  # noqa: B006 (never changed)
    ) -> None:
        check_sizes(n_best, n_best)
        check_draw(temperature, top_k, top_p)
        if not 0 <= seed < 2**63:
            raise ConfigError(f"search.seed: expected 0 to 2^63 - 1; got {seed}")
        self.width = self.copies = self.n_best = self.kept = n_best
        self.temperature, self.top_k, self.top_p, self.seed = temperature, top_k, top_p, seed
        self.length_penalty, self.max_length = NoPenalty(), max_length
        self.rules = Rules(min_length, max_length, no_repeat_ngram, repetition_penalty, without)

    def grow(self, beam: Beam, values: Float[Tensor, "B K V"], eos: int) -> Growth:
        parent = torch.arange(self.width, device=values.device).expand_as(beam.score)
        step = torch.full_like(parent, beam.tokens.shape[-1])
        number = uniform(self.seed, beam.asked.line.unsqueeze(1).expand_as(parent), parent, step)
        token = self.draw(values.double(), number)
        score = beam.score + values.gather(-1, token.unsqueeze(-1)).squeeze(-1)
        score = score.masked_fill(values.isnan().any(dim=-1), math.nan)
        ends = token == eos
        return Growth(parent, token, score.masked_fill(ends, -math.inf), score.masked_fill(~ends, -math.inf))

    def draw(
        self, values: Float[Tensor, "*batch V"], number: Float[Tensor, "*batch"]
    ) -> Int[Tensor, "*batch"]:
        """The token at which the sum of probabilities passes a number in (0, 1)."""
        below = values - values.amax(dim=-1, keepdim=True)  # so that no temperature overflows
        chances = (below / self.temperature).softmax(dim=-1)
        token = None
        if self.top_k or self.top_p < 1:
            chances, token = best(chances, min(self.top_k or values.shape[-1], values.shape[-1]))
            before = chances.cumsum(dim=-1) - chances
            chances = chances.masked_fill(before >= self.top_p * chances.sum(dim=-1, keepdim=True), 0.0)
        sums = chances.cumsum(dim=-1)
        place = (sums <= number.unsqueeze(-1) * sums[..., -1:]).sum(dim=-1)
        place = place.clamp(max=sums.shape[-1] - 1)
        return place if token is None else token.gather(-1, place.unsqueeze(-1)).squeeze(-1)

    def results(self, beam: Beam, score: Float[Tensor, "B K"]) -> Float[Tensor, "B K"]:
        return score

    def check_phrases(self) -> None:
        raise ConfigError("search: phrases need a beam; got phrases with search 'sampling'")


def check_draw(temperature: float, top_k: int, top_p: float) -> None:
    if not 0 < temperature < math.inf:
        raise ConfigError(f"search.temperature: expected above 0; got {temperature}")
    if top_k < 0:
        raise ConfigError(f"search.top_k: expected 0 (all) or more; got {top_k}")
    if not 0 < top_p <= 1:
        raise ConfigError(f"search.top_p: expected above 0, at most 1; got {top_p}")
