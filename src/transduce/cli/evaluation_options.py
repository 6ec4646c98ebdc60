"""The options of `transduce evaluate`, and which of them go together."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from transduce.cli.system import check_ensemble, check_int8
from transduce.errors import ConfigError

NEEDS = {  # an option, and the one without which it says nothing
    "sources": "hypotheses",
    "length_bounds": "by_length",
    "select": "sweep",
    "alignment_threshold": "gold_alignments",
}
MODEL_OPTIONS = ("with_", "beam", "sweep", "errors", "gold_alignments", "check_batching", "int8")
REPORTS = (
    "by_length",
    "confidence",
    "compare",
    "sentences",
    "errors",
    "gold_alignments",
    "check_batching",
    "int8",
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command was given. Raises ConfigError for what does not go together."""

    run: str | None
    data: str | None
    hypotheses: str | None
    references: list[str] | None
    sources: str | None
    metrics: str | None
    confidence: bool
    with_: list[str] | None
    mean: str | None
    weights: str | None
    compare: str | None
    by_length: bool
    length_bounds: str | None
    sentences: bool
    errors: bool
    gold_alignments: str | None
    alignment_threshold: float | None
    check_batching: bool
    int8: bool
    device: str
    sweep: list[str] | None
    select: str | None
    beam: int | None
    batch_size: int
    json: bool
    quiet: bool

    def __post_init__(self) -> None:
        check_int8(self.int8, self.device)
        check_ensemble(self.with_, self.mean, self.weights)
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        check_options({name for name, value in values.items() if value is not None and value is not False})
        if self.beam is not None and any(one.startswith("search.width=") for one in self.sweep or ()):
            raise ConfigError(f"--beam {self.beam} with --sweep search.width: expected one of them")

    @property
    def bounds(self) -> list[int] | None:
        """The numbers of `--length-bounds 10,20,30`. Raises ConfigError for anything else."""
        if self.length_bounds is None:
            return None
        parts = self.length_bounds.split(",")
        if not all(part.isascii() and part.isdigit() for part in parts):
            got = f"expected numbers parted by commas, such as 10,20,30; got {self.length_bounds!r}"
            raise ConfigError(f"--length-bounds: {got}")
        return [int(part) for part in parts]


def check_options(given: set[str]) -> None:
    if ("hypotheses" in given) != ("references" in given):
        raise ConfigError("--hypotheses and --references: expected both or neither")
    if ("run" in given) == ("hypotheses" in given):
        raise ConfigError("expected a run folder, or --hypotheses with --references; got both or neither")
    for option, needed in NEEDS.items():
        if option in given and needed not in given:
            raise ConfigError(f"{flag(option)} needs {flag(needed)}: expected both, got {flag(option)} alone")
    refuse(given, "hypotheses", MODEL_OPTIONS, "expected a run folder, for its model")
    refuse(given, "sweep", REPORTS, "expected one of them; evaluate the search that you choose")
    if {"hypotheses", "by_length"} <= given and "sources" not in given:
        raise ConfigError("--by-length with --hypotheses: expected --sources too, to know their lengths")
    if "json" not in given:
        others = [report for report in REPORTS if report != "sentences"]
        refuse(given, "sentences", others, "expected --json too; as text, sentences are one TSV table")


def refuse(given: set[str], option: str, others: Sequence[str], why: str) -> None:
    both = [other for other in others if other in given]
    if option in given and both:
        raise ConfigError(f"{flag(option)} with {flag(both[0])}: {why}")


def flag(option: str) -> str:
    return f"--{option.rstrip('_').replace('_', '-')}"
