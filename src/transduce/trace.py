"""All that one decode can tell: a plain, versioned value that a viewer can draw and JSON can carry.

Numbers are natural logarithms and nats. Places in texts are (start, end) in code points.
"""

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from transduce.errors import DataError

VERSION = 1
Fate = Literal["kept", "completed", "pruned"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Token:
    """A token and the stretch of text that it stands for; the end of a sentence stands for none."""

    text: str
    start: int | None
    end: int | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score:
    """What ranks a hypothesis, and its parts: total = sum / divisor + coverage.

    `sum` is of log-probabilities as the search's rules left them, `divisor` the length penalty's at its
    length, `coverage` the weighted coverage penalty (0 where that is off).
    """

    total: float
    sum: float
    divisor: float
    coverage: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Candidate:
    """A token that could follow a hypothesis, and what became of it.

    `log_prob` is the model's own. `sum` is the hypothesis's with this token, as the search reckoned it, and
    None where a rule forbids it. A kept one became the hypothesis `child`; a completed one, always the
    end, joined the results; a pruned one has the `reason`.
    """

    id: int
    token: str
    log_prob: float
    sum: float | None
    fate: Fate
    child: int | None = None
    reason: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """An unfinished hypothesis of the beam: its last token, and what was seen to follow it.

    `parent` is the hypothesis that it grew from, None at the start. `score` is what it would have as it
    stands, `ending` what it has with the end, where the search accepts that. `entropy` is that of the
    distribution over all that may follow. `candidates` are the likeliest next tokens and every one that was
    chosen, likeliest first.
    """

    id: int
    parent: int | None
    token: str
    log_prob: float
    score: Score
    ending: Score | None
    entropy: float
    candidates: list[Candidate]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Step:
    """The active hypotheses before one more token is written, in the order of the beam."""

    beam: list[Hypothesis]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """One of the n best; `hypothesis` is what it ended from, or is where it did not end."""

    text: str
    log_prob: float
    score: Score
    finished: bool
    hypothesis: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trace:
    """How one sentence was decoded.

    `weights` [target tokens, layers, heads, source tokens] are the attention of the best result, read by
    one forced pass. `copy_gate` and `coverage` are there where a model has them: the probability of
    generating each target token rather than copying it, and the attention [target tokens, source tokens]
    that each source token had had before it.
    """

    trace: Literal[1] = VERSION
    source: str
    source_tokens: list[Token]
    text: str
    target_tokens: list[Token]
    weights: list[list[list[list[float]]]]
    steps: list[Step]
    n_best: list[Result]
    copy_gate: list[float] | None = None
    coverage: list[list[float]] | None = None

    def plain(self) -> dict[str, Any]:
        """Plain values, for JSON; `schema` describes them."""
        return dataclasses.asdict(self)

    @classmethod
    def from_plain(cls, tree: Any) -> "Trace":
        """The trace that `plain` wrote. Raises DataError for anything else, such as another version."""
        from pydantic import ValidationError

        if not isinstance(tree, Mapping) or tree.get("trace") != VERSION:
            got = tree.get("trace") if isinstance(tree, Mapping) else tree
            raise DataError(
                f"trace: expected a mapping with 'trace': {VERSION}, its version; got {got!r:.80}"
            )
        try:
            return adapter().validate_python(tree)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise DataError(f"trace: {where}: {first['msg']}; got {first['input']!r:.80}") from None

    @classmethod
    def of_nothing(cls, source: str) -> "Trace":
        """The trace of a blank text, which no model reads."""
        return cls(
            source=source, source_tokens=[], text="", target_tokens=[], weights=[], steps=[], n_best=[]
        )


def schema() -> dict[str, Any]:
    """The JSON Schema of `Trace.plain`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **adapter().json_schema(mode="serialization"),
    }


@cache
def adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Trace)
