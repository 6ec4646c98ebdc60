"""What may follow a hypothesis, beyond what the model says: lengths, repetition, prefixes, banned phrases.

A rule changes what is chosen and ranked, never `log_prob`, which stays the model's own. All rules read the
tokens that the beam carries, for all hypotheses at once.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from transduce.config import Settings
from transduce.errors import ConfigError
from transduce.search.hypotheses import Beam

Values = Float[Tensor, "B K V"]
UNLIMITED = 2**40  # symbols; more than can be written, and no number of them overflows
NOTHING = -2  # stands before the beginning; equals no id


class MaxLength(Settings):
    """At most ratio · source tokens + plus target symbols, EOS aside; source EOS not counted."""

    ratio: float = 2.0
    plus: int = 50

    def of(self, lengths: Int[Tensor, " B"]) -> Int[Tensor, " B"]:
        return symbols(lengths, self.ratio, self.plus).clamp(min=1)


class MinLength(Settings):
    """At least ratio · source tokens + plus target symbols, counted as in `MaxLength`."""

    ratio: float = 0.0
    plus: int = 0

    def of(self, lengths: Int[Tensor, " B"]) -> Int[Tensor, " B"]:
        return symbols(lengths, self.ratio, self.plus).clamp(min=0)


def symbols(lengths: Int[Tensor, " B"], ratio: float, plus: int) -> Int[Tensor, " B"]:
    """Rounded down as Python does; in float32, 1.1 · 10^6 would be off by one."""
    return (lengths.double() * ratio).floor().clamp(max=UNLIMITED).long().add(plus)


class Rule(ABC):
    """What a search's options say about every line alike; `reason` says why it forbids what it does."""

    reason: ClassVar[str]

    @abstractmethod
    def __call__(self, values: Values, beam: Beam, eos: int) -> Values:
        """The values after this rule: never above 0, and the given ones are not written to."""


@dataclass(frozen=True)
class LeastLength(Rule):
    """No end before the least length."""

    reason = "shorter than min_length"
    least: MinLength

    def __call__(self, values: Values, beam: Beam, eos: int) -> Values:
        early = self.least.of(beam.asked.length) >= beam.tokens.shape[-1]
        is_end = torch.arange(values.shape[-1], device=values.device) == eos
        return values.masked_fill(early[:, None, None] & is_end, -math.inf)


@dataclass(frozen=True)
class NoRepeat(Rule):
    """No n-gram of this size twice (Paulus et al. 2018, arXiv:1705.04304, §2.5)."""

    reason = "repeats an n-gram"
    size: int

    def __call__(self, values: Values, beam: Beam, eos: int) -> Values:
        written = beam.tokens[..., 1:]
        if written.shape[-1] < self.size:
            return values
        grams = written.unfold(-1, self.size, 1)  # [B K G n]
        latest = written[..., written.shape[-1] - self.size + 1 :].unsqueeze(2)
        again = (grams[..., :-1] == latest).all(dim=-1)
        return forbid_where(values, grams[..., -1], again)


@dataclass(frozen=True)
class RepetitionPenalty(Rule):
    """Multiplies the log-probability of each token that was written already (Keskar et al. 2019,
    arXiv:1909.05858, §4.1, who divide logits): above 1 it makes repetition unlikelier, at 1 it is off.
    """

    reason = "repeats a token"
    factor: float

    def __call__(self, values: Values, beam: Beam, eos: int) -> Values:
        written = beam.tokens[..., 1:]
        return values.scatter(-1, written, values.gather(-1, written) * self.factor)


def forbid_where(
    values: Values, token: Int[Tensor, "B K C"], forbidden: Bool[Tensor, "B K C"]
) -> Float[Tensor, "B K V"]:
    """The values with -inf for some tokens of each hypothesis."""
    loss = torch.zeros(forbidden.shape, dtype=values.dtype, device=values.device)
    return values.scatter_add(-1, token, loss.masked_fill(forbidden, -math.inf))


def forbid_phrases(values: Values, beam: Beam) -> Values:
    """No banned phrase: its last token may not follow the ones before it."""
    before, last = beam.asked.banned[..., :-1], beam.asked.banned[..., -1]
    written = latest(beam.tokens, before.shape[-1]).unsqueeze(2)
    begun = ((written == before.unsqueeze(1)) | (before < 0).unsqueeze(1)).all(dim=-1)  # [B K E]
    real = (last >= 0).unsqueeze(1)
    return forbid_where(values, last.clamp(min=0).unsqueeze(1).expand_as(begun), begun & real)


def latest(tokens: Int[Tensor, "B K T"], count: int) -> Int[Tensor, "B K M"]:
    """The last `count` tokens, whether there are as many or not."""
    return pad(tokens, (count, 0), value=NOTHING)[..., tokens.shape[-1] :]


def force_prefix(values: Values, log_probs: Values, beam: Beam) -> Values:
    """Only the next token of the prefix that is asked for, whatever other rules say."""
    place, prefix = beam.tokens.shape[-1] - 1, beam.asked.prefix
    if place >= prefix.shape[1]:
        return values
    wanted = prefix[:, place, None]
    other = torch.arange(values.shape[-1], device=values.device) != wanted
    forced = log_probs.masked_fill(other.unsqueeze(1), -math.inf)
    return torch.where((wanted >= 0).unsqueeze(1), forced, values)


class Rules:
    """All that a search is told about what may follow; what is off costs nothing."""

    def __init__(
        self,
        min_length: MinLength,
        max_length: MaxLength,
        no_repeat_ngram: int,
        repetition_penalty: float,
        without: Sequence[str],
    ) -> None:
        check_lengths(min_length, max_length)
        check_repetition(no_repeat_ngram, repetition_penalty)
        if not all(without):
            raise ConfigError(f"search.without: expected phrases; got an empty one in {list(without)}")
        self.without = tuple(without)
        chosen = {
            LeastLength(min_length): min_length != MinLength(),
            NoRepeat(no_repeat_ngram): no_repeat_ngram > 0,
            RepetitionPenalty(repetition_penalty): repetition_penalty != 1,
        }
        self.chosen: list[Rule] = [rule for rule, is_on in chosen.items() if is_on]

    def __call__(self, log_probs: Values, beam: Beam, eos: int) -> Values:
        values = log_probs
        for rule in self.chosen:
            values = rule(values, beam, eos)
        if beam.asked.banned.shape[1]:
            values = forbid_phrases(values, beam)
        return force_prefix(values, log_probs, beam)

    def forbidden(
        self, log_probs: Values, beam: Beam, eos: int
    ) -> Iterator[tuple[str, Bool[Tensor, "B K V"]]]:
        """A reason, and what it alone forbids, for each; of several that forbid a token the first is why."""
        yield "not the prefix", force_prefix(log_probs, log_probs, beam).isneginf()
        for rule in self.chosen:
            yield rule.reason, rule(log_probs, beam, eos).isneginf()
        if beam.asked.banned.shape[1]:
            yield "ends a banned phrase", forbid_phrases(log_probs, beam).isneginf()


def check_lengths(least: MinLength, most: MaxLength) -> None:
    """Refuses lengths that leave no room."""
    if not 0 <= most.ratio < math.inf or most.ratio + most.plus < 1:
        raise ConfigError(
            f"search.max_length: expected ratio at least 0 and room for one symbol; "
            f"got ratio {most.ratio}, plus {most.plus}"
        )
    if not 0 <= least.ratio < math.inf:
        raise ConfigError(f"search.min_length: expected ratio at least 0; got {least.ratio}")
    if max(abs(least.plus), abs(most.plus)) > UNLIMITED:
        raise ConfigError(
            f"search: expected lengths of at most {UNLIMITED:,}; got min_length {least.plus}, "
            f"max_length {most.plus}"
        )
    one = torch.ones(1, dtype=torch.long)
    if least.ratio > most.ratio or least.of(one) > most.of(one):
        raise ConfigError(
            f"search: expected min_length at most max_length for every source; got min_length "
            f"{least.model_dump()} and max_length {most.model_dump()}"
        )


def check_repetition(no_repeat_ngram: int, repetition_penalty: float) -> None:
    if no_repeat_ngram < 0:
        raise ConfigError(f"search.no_repeat_ngram: expected 0 (off) or more; got {no_repeat_ngram}")
    if not 1 <= repetition_penalty < math.inf:
        raise ConfigError(f"search.repetition_penalty: expected 1 (off) or more; got {repetition_penalty}")
