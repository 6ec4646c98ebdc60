"""Components chosen by name, and the strict settings that one YAML file fills.

A `Component` subclass declared with `name="..."` joins its family and can be named in YAML. Its
constructor is its schema: positional parameters are wiring supplied by the caller, keyword-only
parameters are options a user may set.
"""

import functools
import importlib
import inspect
import pkgutil
import re
import typing
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, create_model, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from transduce.errors import ConfigError, unknown


class Component:
    """Base of everything a configuration can name; its direct subclasses are the families."""

    family: ClassVar[dict[str, type[Self]]]
    name: ClassVar[str]

    def __init_subclass__(cls, *, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if Component in cls.__bases__:
            cls.family = {}
        elif name is not None:
            if name in cls.family:
                raise ConfigError(f"{name!r} is already the name of {cls.family[name].__qualname__}")
            cls.name = name
            cls.family[name] = cls


C = TypeVar("C", bound=Component)
BRANCH = re.compile(r"int|str|float|bool|literal\[.*\]")  # what pydantic adds to the path in a union


def discover(package: str, path: Iterable[str]) -> None:
    """Imports every module of `package`, so that each component in it joins its family."""
    for module in pkgutil.iter_modules(path, prefix=f"{package}."):
        importlib.import_module(module.name)


class Settings(BaseModel):
    """A strict, immutable mapping: unknown keys are errors that name the nearest known one."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        errors = [
            InitErrorDetails(type=_custom(unknown("key", key, cls.model_fields)), loc=(str(key),), input=key)
            for key in value
            if key not in cls.model_fields
        ]
        if errors:
            raise ValidationError.from_exception_data(cls.__name__, errors)
        return {key: cls._named(key, item) for key, item in value.items()}

    @classmethod
    def _named(cls, key: str, item: Any) -> Any:
        """Options given without a name belong to the component that stands there by default.

        Those not given keep what that default sets.
        """
        default = cls.model_fields[key].default
        if not isinstance(default, Spec) or not isinstance(item, Mapping):
            return item
        same = item.get("name", default.name) == default.name
        return {"name": default.name, **default.options, **item} if same else item


class Spec(Generic[C]):
    """A component chosen by name, with its options; `build` supplies the wiring."""

    def __init__(self, kind: type[C], name: str, options: Mapping[str, Any] | None = None) -> None:
        self.kind, self.name, self.options = kind, name, dict(options or {})

    def __repr__(self) -> str:
        return f"Spec({self.kind.__name__}, {self.name!r}, {self.options!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and self.kind is other.kind and self.plain() == other.plain()

    def __hash__(self) -> int:
        return hash((self.kind, self.name))

    def build(self, *wiring: Any) -> C:
        """Constructs the component from positional `wiring` and the chosen options."""
        return self.kind.family[self.name](*wiring, **self.options)

    def plain(self) -> dict[str, Any]:
        """The mapping that YAML holds, every default written out."""
        return dump_options(self.kind.family[self.name], self.options)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        (kind,) = typing.get_args(source) or (Component,)  # bare where a default is serialised
        return core_schema.no_info_plain_validator_function(
            functools.partial(_to_spec, kind),
            serialization=core_schema.plain_serializer_function_ser_schema(Spec.plain),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        kind = core["function"]["function"].args[0]
        if kind in _described:  # a component that is made of others of its family: one level is told
            return {"anyOf": [{"enum": list(kind.family)}, {"type": "object"}]}
        _described.append(kind)
        try:
            schemas = [handler(options_model(part).__pydantic_core_schema__) for part in kind.family.values()]
        finally:
            _described.pop()
        for name, schema in zip(kind.family, schemas, strict=True):
            full = handler.resolve_ref_schema(schema)
            full["properties"] = {"name": {"const": name}, **full.get("properties", {})}
        return {"anyOf": [{"enum": list(kind.family)}, *schemas]}


_described: list[type[Component]] = []  # families whose JSON Schema is being written


@functools.cache
def options_model(component: type[Component]) -> type[Settings]:
    """The settings that a component's keyword-only parameters make."""
    init = component.__init__
    hints = typing.get_type_hints(init)
    options = [p for p in inspect.signature(init).parameters.values() if p.kind is p.KEYWORD_ONLY]
    fields: dict[str, Any] = {
        p.name: (hints[p.name], ... if p.default is p.empty else p.default) for p in options
    }
    return create_model(component.__name__, __base__=Settings, **fields)


def dump_options(component: type[Component], options: Mapping[str, Any]) -> dict[str, Any]:
    filled = options_model(component).model_validate(dict(options))
    return {"name": component.name, **filled.model_dump()}


def _to_spec(kind: type[Component], value: Any) -> Spec[Any]:
    if isinstance(value, Spec):
        value = {"name": value.name, **value.options}
    options = dict(value) if isinstance(value, Mapping) else {"name": value}
    name = options.pop("name", None)
    if not isinstance(name, str) or name not in kind.family:
        message = unknown(kind.__name__.lower(), name, kind.family)
        raise _custom(message if name is not None else f"name missing; known: {', '.join(kind.family)}")
    filled = options_model(kind.family[name]).model_validate(options)
    return Spec(kind, name, {key: getattr(filled, key) for key in type(filled).model_fields})


def _custom(message: str) -> PydanticCustomError:
    return PydanticCustomError("transduce", "{message}", {"message": message})


class _Resolver:
    """YAML 1.2's core scalars: 1e-3 is a number, `no` and 12:30 are text."""

    rules: ClassVar = [
        ("tag:yaml.org,2002:bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
        ("tag:yaml.org,2002:int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
        (
            "tag:yaml.org,2002:float",
            r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
            "-+.0123456789",
        ),
        ("tag:yaml.org,2002:null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
        ("tag:yaml.org,2002:merge", r"<<", "<"),
    ]

    @classmethod
    def install(cls, kind: Any) -> None:
        kind.yaml_implicit_resolvers = {}
        for tag, pattern, first in cls.rules:
            kind.add_implicit_resolver(tag, re.compile(rf"^(?:{pattern})$"), list(first))


class _Loader(yaml.SafeLoader):
    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="expected text as a key", problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key.value!r} stands twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return node

    def construct_int(self, node: Any) -> int:
        text = node.value
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)

    def construct_float(self, node: Any) -> float:
        return float(re.sub(r"\.(?=inf|nan)", "", node.value.lower()))


class _Dumper(yaml.SafeDumper):
    def represent_text(self, text: str) -> Any:
        """Quotes what YAML takes for line ends, which it would fold into spaces."""
        style = '"' if re.search("[\n\r\x85\u2028\u2029]", text) else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style)


for _kind in (_Loader, _Dumper):
    _Resolver.install(_kind)
_Dumper.add_representer(str, _Dumper.represent_text)
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_float)


def parse_yaml(text: str, where: str) -> Any:
    """Reads YAML 1.2 scalars into plain values; `where` names the text in errors."""
    try:
        return yaml.load(text, _Loader)  # noqa: S506 (a SafeLoader)
    except yaml.constructor.ConstructorError as error:
        raise ConfigError(f"{where}: refused: unsafe content: {error.problem}") from None
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{where}{line}: expected YAML; {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{where}: expected YAML; {error}") from None


def dump_yaml(tree: Any) -> str:
    """Writes plain values so that `parse_yaml` gives them back."""
    return yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def parse_override(override: str) -> dict[str, Any]:
    """Turns `key.path=value` into the nested mapping that it stands for."""
    path, equals, value = override.partition("=")
    if not equals or not all(path.split(".")):
        raise ConfigError(f"override {override!r}: expected key.path=value")
    tree = parse_yaml(value, f"override {override!r}")
    for key in reversed(path.split(".")):
        tree = {key: tree}
    return tree


def merge(base: Any, changes: Any) -> Any:
    """Lays `changes` over `base`: mappings key by key, anything else replaced."""
    if not isinstance(changes, Mapping):
        return changes
    if isinstance(base, str):  # `attention: dot` is short for `attention: {name: dot}`
        base = {"name": base}
    if not isinstance(base, Mapping) or changes.get("name", base.get("name")) != base.get("name"):
        return dict(changes)
    return {**base, **{key: merge(base.get(key), value) for key, value in changes.items()}}


S = TypeVar("S", bound=Settings)


def validate(schema: type[S], tree: Any, where: str) -> S:
    """Checks plain values against `schema`; a `ConfigError` lists every fault with its path."""
    try:
        return schema.model_validate({} if tree is None else tree)
    except ValidationError as error:
        faults: dict[tuple[str, str], list[str]] = {}
        for before, expected, after in map(_explain, error.errors()):
            faults.setdefault((before, after), []).append(expected)  # the branches of `int | str` are one
        listed = [before + " or ".join(wanted) + after for (before, after), wanted in faults.items()]
        raise ConfigError(f"{where}: " + "; ".join(listed)) from None


def _explain(fault: Any) -> tuple[str, str, str]:
    """A fault as what comes before, is, and comes after what was expected."""
    path = "".join(f"{key}." for key in fault["loc"] if not BRANCH.fullmatch(str(key)))
    path = f"{path[:-1]}: " if path else ""
    message = fault["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if fault["type"] in ("transduce", "value_error"):
        return path, message, ""
    if fault["type"] == "missing":
        return path, "expected a value; it is required", ""
    return f"{path}expected ", message.removeprefix("a valid "), f"; got {fault['input']!r}"
