"""The schema that one YAML file fills: one file is one experiment."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

import transduce.data.sources  # noqa: F401 (registers them)
from transduce import recipes
from transduce.config import Component, Settings, Spec, merge, parse_override, parse_yaml, validate
from transduce.data.curriculum import Curriculum
from transduce.data.lines import STDIN, read_once
from transduce.data.pairs import PairSource, Part, Place, format_of, paths_of
from transduce.errors import ConfigError, unknown
from transduce.metrics import Metric
from transduce.model import ModelSettings
from transduce.search import Search
from transduce.tokenizers import Tokenizer
from transduce.training.settings import LoopSettings
from transduce.training.trackers import Tracker

PARTS: tuple[Part, ...] = ("train", "dev", "test")
DATA_PATHS = ("alignments",)
TRAIN_PATHS = ("start_from", "source_embeddings", "target_embeddings")


class DataSettings(Settings):
    """Where pairs come from. A path is a TSV file, or JSON Lines (`.jsonl`); `{source, target}` are parallel.

    Training pairs longer than `max_source_length` or `max_target_length` tokens, the end of the sentence
    aside, are left out; dev and test keep every pair. `alignments` is a file with a line of word links, in
    Pharaoh's format, for each line of the training data (a header aside). `strict` refuses what is otherwise
    skipped or said: pairs with a blank side, over-long ones, and pairs of dev or test that are trained on.
    """

    train: Spec[PairSource]
    dev: Spec[PairSource] | None = None
    test: Spec[PairSource] | None = None
    source_column: int | str | None = None
    target_column: int | str | None = None
    features_column: None = None
    max_source_length: int | None = Field(default=None, ge=1)
    max_target_length: int | None = Field(default=None, ge=1)
    alignments: str | None = None  # word links, a line for each of train's, which guide attention
    strict: bool = False

    @field_validator(*PARTS, mode="before", json_schema_input_type=Spec[PairSource] | str | None)
    @classmethod
    def _expand(cls, value: Any) -> Any:
        return expand(value)

    @field_validator(*PARTS)
    @classmethod
    def _readable_again(cls, value: Spec[PairSource] | None) -> Spec[PairSource] | None:
        for path in () if value is None else paths_of(value):
            check_readable_again(path)
        return value

    @field_validator("alignments")
    @classmethod
    def _alignments_readable_again(cls, value: str | None) -> str | None:
        if value is not None:
            check_readable_again(value)
        return value

    def source(self, part: Part, seed: int) -> PairSource | None:
        """The pairs of one part, or None where the experiment has none."""
        spec: Spec[PairSource] | None = getattr(self, part)
        return spec and spec.build(Place(part, seed, self.source_column, self.target_column))


def check_readable_again(path: str) -> None:
    if got := read_once(path):
        hint = "a run that goes on reads its data again; write it to a file first"
        raise ValueError(f"expected a file; got {got}; {hint}")


class TokenizerSettings(Settings):
    source: Spec[Tokenizer] = Spec(Tokenizer, "char")
    target: Spec[Tokenizer] = Spec(Tokenizer, "char")
    shared: bool = False

    @model_validator(mode="after")
    def _check_shared(self) -> "TokenizerSettings":
        if self.shared and self.source != self.target:
            raise ValueError(f"shared: expected equal tokenizers; got {self.source} and {self.target}")
        return self


def buildable(search: Spec[Search]) -> Spec[Search]:
    """Finds what a search cannot do before a model is trained for it."""
    search.build()
    return search


Runnable = Annotated[Spec[Search], AfterValidator(buildable)]


class TrainSettings(LoopSettings):
    """Everything of training. Counts are of updates; `auto` is explained beside each."""

    batch_pairs: int | None = None  # 32, unless batch_tokens is given
    batch_tokens: int | None = None  # padded target tokens
    updates: int | Literal["auto"] = "auto"  # max(3000, 20 epochs)
    validate_every: int | Literal["auto"] = "auto"  # an epoch, but between 100 and 1,000
    save_every: int | Literal["auto"] = "auto"  # at each validation
    log_every: int = 50
    start_from: str | None = None  # a run whose model and vocabularies to begin with
    extend_vocabulary: bool = False  # by what the data hold beside that run's
    curriculum: Curriculum | None = None  # short pairs first
    source_embeddings: str | None = None  # text files of word vectors to begin with
    target_embeddings: str | None = None
    keep_saves: int = Field(default=2, ge=2)  # the newest ones; more serve `transduce average`
    track: list[Spec[Tracker]] = Field(default=[])  # where the run is logged too, beside metrics.jsonl
    workers: int = Field(default=0, ge=0)  # threads that make batches ahead
    select: str = "exact_match"
    validation_search: Runnable = Spec(Search, "beam", {"width": 1})

    @model_validator(mode="before")
    @classmethod
    def _one_batch_size(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        pairs, tokens = value.get("batch_pairs"), value.get("batch_tokens")
        if pairs is not None and tokens is not None:
            both = f"got both ({pairs}, {tokens}); set one to null"
            raise ValueError(f"expected batch_pairs or batch_tokens; {both}")
        return value if pairs is not None or tokens is not None else {**value, "batch_pairs": 32}

    @field_validator("batch_pairs", "batch_tokens", "updates", "validate_every", "save_every", "log_every")
    @classmethod
    def _positive(cls, value: Any) -> Any:
        if isinstance(value, int) and value < 1:
            raise ValueError(f"expected at least 1; got {value}")
        return value

    @field_validator("select")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in (*Metric.family, "loss"):
            raise ValueError(unknown("metric", value, [*Metric.family, "loss"]))
        return value


class Experiment(Settings):
    """One experiment, every default filled in."""

    format: Literal[1] = 1
    name: str = "run"
    data: DataSettings
    tokenizer: TokenizerSettings = TokenizerSettings()
    model: ModelSettings = ModelSettings()
    train: TrainSettings = TrainSettings()
    search: Runnable = Spec(Search, "beam")
    seed: int = Field(default=1, ge=0, lt=2**63)

    @model_validator(mode="after")
    def _check_sharing(self) -> "Experiment":
        if self.model.share_embeddings and not self.tokenizer.shared:
            raise ValueError("model.share_embeddings: true needs tokenizer.shared: true; got false")
        return self

    @model_validator(mode="after")
    def _check_guidance(self) -> "Experiment":
        guided, path = self.train.guided_attention, self.data.alignments
        if (guided > 0) != (path is not None):
            raise ValueError(
                f"train.guided_attention above 0 and data.alignments need each other; got {guided}, {path}"
            )
        return self

    @model_validator(mode="after")
    def _check_extension(self) -> "Experiment":
        if not self.train.extend_vocabulary:
            return self
        if self.train.start_from is None:
            raise ValueError("train.extend_vocabulary: true needs train.start_from; got null")
        for side, spec in (("source", self.tokenizer.source), ("target", self.tokenizer.target)):
            if not spec.kind.family[spec.name].extensible:
                raise ValueError(
                    f"train.extend_vocabulary: true needs tokenizers of whole symbols (char, word); got "
                    f"tokenizer.{side}: {spec.name}, whose pieces are learnt together"
                )
        return self


def load_experiment(config: str | Mapping[str, Any], overrides: Sequence[str] = ()) -> Experiment:
    """Reads a YAML file, a recipe or a mapping, lays `key.path=value` overrides over it, and checks it all.

    Paths in a file are relative to that file, all others to the working folder.
    """
    if isinstance(config, Mapping):
        where, tree, base = "settings", dict(config), Path()
    else:
        text, base, name = find_config(config)
        where, tree = config, parse_yaml(text, config) or {}
        if not isinstance(tree, dict):
            raise ConfigError(f"{config}: expected a mapping of settings; got {type(tree).__name__}")
        tree = {"name": name, **tree}
    tree = resolve_paths(tree, base)
    for override in overrides:
        ((key, value),) = resolve_paths(parse_override(override), Path()).items()
        tree[key] = merge(tree.get(key), value)
    return validate(Experiment, tree, where)


def find_config(config: str) -> tuple[str, Path, str]:
    """The text of a configuration, the folder its paths start from, and its name."""
    path = Path(config)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        try:
            return path.read_text(encoding="utf-8"), path.parent, path.stem
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{config}: cannot be read; {error}") from None
    known = recipes.texts()
    if config not in known:
        raise ConfigError(f"{unknown('recipe', config, known)} (a file's name ends in .yaml)")
    return known[config], Path(), config


def families() -> dict[str, list[str]]:
    """Every family of components, and the names that YAML may give."""
    return {kind.__name__.lower(): list(kind.family) for kind in Component.__subclasses__()}


def expand(value: Any) -> Any:
    """Writes out what a path, `{source, target}` and a list of sources are short for."""
    if value in ("-", [None]):  # YAML takes a lone dash for a list of nothing
        value = STDIN
    if isinstance(value, list):
        return mixed([expand(item) for item in value])
    if isinstance(value, str):
        return {"name": format_of(value), "path": value}
    if not isinstance(value, Mapping) or "name" in value:
        return value
    if "path" in value:
        return {"name": format_of(str(value["path"])), **value}
    return {"name": "parallel", **value} if {"source", "target"} & value.keys() else value


def mixed(sources: list[Any]) -> dict[str, Any]:
    """Several sources as one, each with the weight that stands beside it."""
    weights = [item.get("weight", 1.0) if isinstance(item, Mapping) else 1.0 for item in sources]
    plain = [
        {key: value for key, value in item.items() if key != "weight"} if isinstance(item, Mapping) else item
        for item in sources
    ]
    return {"name": "mix", "sources": plain, "weights": weights}


def resolve_paths(tree: dict[str, Any], base: Path) -> dict[str, Any]:
    """Makes the paths of `data:` and `train:` absolute."""
    resolved = dict(tree)
    places = (("data", _resolve, PARTS), ("data", _absolute, DATA_PATHS), ("train", _absolute, TRAIN_PATHS))
    for section, resolve, keys in places:
        if isinstance(resolved.get(section), dict):
            items = resolved[section].items()
            resolved[section] = {key: resolve(value, base) if key in keys else value for key, value in items}
    return resolved


def _resolve(value: Any, base: Path) -> Any:
    if isinstance(value, list) and value != [None]:
        return [_resolve(item, base) for item in value]
    value = expand(value)
    if isinstance(value, Mapping) and isinstance(value.get("sources"), list):
        return {**value, "sources": [_resolve(item, base) for item in value["sources"]]}
    if not isinstance(value, Mapping) or str(value.get("name")) not in PairSource.family:
        return value
    paths = {
        key: _absolute(value[key], base)
        for key in PairSource.family[str(value["name"])].paths
        if isinstance(value.get(key), str) and value[key] != STDIN
    }
    return {**value, **paths}


def _absolute(path: Any, base: Path) -> Any:
    """A path as it is from the root, without any `..`; anything else as it is.

    Links are followed up to the last `..` alone: the ending of a link's own name tells its format.
    """
    if not isinstance(path, str):
        return path
    whole = (base / os.path.expanduser(path)).absolute()  # which, unlike pathlib's, leaves ~nobody as it is
    if ".." not in whole.parts:
        return str(whole)
    end = len(whole.parts) - whole.parts[::-1].index("..")
    return str(Path(os.path.realpath(Path(*whole.parts[:end])), *whole.parts[end:]))
