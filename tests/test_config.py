"""Components by name, strict settings, and the YAML that fills them."""

import json
import math
import warnings
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from transduce.config import (
    Component,
    Settings,
    Spec,
    dump_options,
    dump_yaml,
    merge,
    options_model,
    parse_override,
    parse_yaml,
    validate,
)
from transduce.errors import ConfigError
from transduce.experiment import Experiment, families

WHERE = "house.yaml"


class Paint(Component):
    """A family of our own."""


class Primer(Component):
    """What another family's options choose from."""


class Plain(Primer, name="plain"):
    def __init__(self, surface: str, *, layers: int = 1, thin: bool = False) -> None:
        self.surface, self.layers, self.thin = surface, layers, thin


class Red(Paint, name="red"):
    def __init__(
        self, surface: str, *, coats: int = 1, gloss: float = 0.5, tone: Literal["dark", "light"] = "dark"
    ) -> None:
        self.surface, self.coats, self.gloss, self.tone = surface, coats, gloss, tone


class Mixed(Paint, name="mixed"):
    def __init__(
        self,
        surface: str,
        *,
        base: Spec[Primer] = Spec(Primer, "plain", {"layers": 2}),
        label: str = "",
        parts: int | None = None,
    ) -> None:
        self.base, self.label, self.parts = base.build(surface), label, parts


class Garden(Settings):
    trees: int = 0
    fence: bool = False


class House(Settings):
    owner: str
    wall: Spec[Paint] = Spec(Paint, "red")
    roof: Spec[Paint] | None = None
    rooms: int = 3
    size: float | Literal["auto"] = "auto"
    garden: Garden = Garden()


def house(**tree: Any) -> House:
    return validate(House, {"owner": "Ada", **tree}, WHERE)


def mixed(**base: Any) -> Spec[Paint]:
    return Spec(Paint, "mixed", {"base": Spec(Primer, "plain", base)})


def fails(**tree: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        house(**tree)
    assert str(caught.value).startswith(f"{WHERE}: ")
    return str(caught.value).removeprefix(f"{WHERE}: ")


def yaml_fails(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, WHERE)
    return str(caught.value)


def test_components_join_their_family_by_name_alone():
    assert Paint.family == {"red": Red, "mixed": Mixed}
    assert (Red.name, Mixed.name) == ("red", "mixed")
    with pytest.raises(ConfigError, match="'red' is already the name of Red"):
        type("Again", (Paint,), {}, name="red")
    type("Nameless", (Red,), {})
    assert list(Paint.family) == ["red", "mixed"]


def test_every_family_of_the_package_has_members_and_schemas():
    assert {"encoder", "decoder", "attention", "tokenizer", "search", "metric", "pairsource"} <= set(
        families()
    )
    assert all(families().values())
    for kind in Component.__subclasses__():
        for name, component in kind.family.items():
            assert component.name == name
            assert issubclass(options_model(component), Settings)


def test_only_keyword_parameters_are_options():
    assert list(options_model(Red).model_fields) == ["coats", "gloss", "tone"]
    assert dump_options(Red, {"coats": 2}) == {"name": "red", "coats": 2, "gloss": 0.5, "tone": "dark"}
    assert "surface" in fails(wall={"name": "red", "surface": "door"})


def test_a_spec_builds_from_wiring_and_options():
    built = Spec(Paint, "red", {"coats": 3}).build("door")
    assert (type(built), built.surface, built.coats, built.tone) == (Red, "door", 3, "dark")
    base = house(wall={"name": "mixed"}).wall.build("door").base
    assert (type(base), base.surface, base.layers) == (Plain, "door", 2)


def test_specs_are_equal_where_all_their_options_are():
    plain, written_out = Spec(Paint, "red"), Spec(Paint, "red", {"coats": 1, "tone": "dark"})
    assert plain == written_out
    assert hash(plain) == hash(written_out)
    assert plain != Spec(Paint, "red", {"coats": 2})
    assert plain != Spec(Paint, "mixed")
    assert plain != "red"
    assert repr(Spec(Paint, "red", {"coats": 2})) == "Spec(Paint, 'red', {'coats': 2})"


def test_defaults_fill_what_is_left_out():
    tree = house().model_dump()
    red = {"name": "red", "coats": 1, "gloss": 0.5, "tone": "dark"}
    garden = {"trees": 0, "fence": False}
    expected = {"owner": "Ada", "wall": red, "roof": None, "rooms": 3, "size": "auto", "garden": garden}
    assert tree == expected


@pytest.mark.parametrize(
    ("wall", "expected"),
    [
        ("red", Spec(Paint, "red")),
        ({"coats": 4}, Spec(Paint, "red", {"coats": 4})),
        ({"name": "red", "gloss": 1}, Spec(Paint, "red", {"gloss": 1.0})),
        ({"name": "mixed"}, mixed(layers=2)),
        ({"name": "mixed", "base": {"thin": True}}, mixed(layers=2, thin=True)),
        ({"name": "mixed", "base": {"name": "plain", "thin": True}}, mixed(layers=2, thin=True)),
        ({"name": "mixed", "base": {"layers": 3}}, mixed(layers=3)),
        ({"name": "mixed", "base": "plain"}, mixed(layers=1)),
        (Spec(Paint, "red", {"coats": 7}), Spec(Paint, "red", {"coats": 7})),
    ],
)
def test_ways_to_give_a_component(wall, expected):
    assert house(wall=wall).wall == expected


def test_settings_cannot_be_changed_afterwards():
    with pytest.raises(ValidationError):
        house().rooms = 4


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"romos": 4}, "romos: unknown key 'romos'; did you mean 'rooms'?"),
        ({"garden": {"tree": 4}}, "garden.tree: unknown key 'tree'; did you mean 'trees'?"),
        ({"wall": {"coat": 4}}, "wall.coat: unknown key 'coat'; did you mean 'coats'?"),
        (
            {"wall": {"name": "mixed", "base": {"thn": 4}}},
            "wall.base.thn: unknown key 'thn'; did you mean 'thin'?",
        ),
        ({"roof": {"name": "rad"}}, "roof: unknown paint 'rad'; did you mean 'red'?"),
        ({"roof": "blue-green"}, "roof: unknown paint 'blue-green'; known: red, mixed"),
        ({"roof": {"name": [1]}}, "roof: unknown paint '[1]'; known: red, mixed"),
        ({"roof": {"coats": 2}}, "roof: name missing; known: red, mixed"),
        ({"roof": 5}, "roof: unknown paint '5'; known: red, mixed"),
        ({"zzz": 1}, "zzz: unknown key 'zzz'; known: owner, wall, roof, rooms, size, garden"),
        ({"rooms": "4"}, "rooms: expected integer; got '4'"),
        ({"rooms": True}, "rooms: expected integer; got True"),
        ({"rooms": 4.5}, "rooms: expected integer; got 4.5"),
        ({"owner": 5}, "owner: expected string; got 5"),
        ({"garden": {"fence": "yes"}}, "garden.fence: expected boolean; got 'yes'"),
        ({"garden": 5}, "garden: expected dictionary or instance of Garden; got 5"),
        ({"wall": {"tone": "drak"}}, "wall.tone: expected 'dark' or 'light'; got 'drak'"),
        ({"size": "large"}, "size: expected number or 'auto'; got 'large'"),
    ],
)
def test_a_fault_is_named_by_its_path(tree, message):
    assert fails(**tree) == message


def test_all_faults_are_told_at_once():
    message = fails(rooms="4", wall={"coats": "2", "tone": "x"}, size=None, garden={"trees": 1.5})
    for part in ("rooms: ", "wall.coats: ", "wall.tone: ", "size: ", "garden.trees: "):
        assert part in message
    assert message.count("; got ") == 5
    with pytest.raises(ConfigError, match=r"owner: expected a value; it is required"):
        validate(House, None, WHERE)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1.5e+2", -150.0),
        ("+12", 12),
        ("0o17", 15),
        ("0xfF", 255),
        ("017", 17),
        ("-.inf", -math.inf),
        (".INF", math.inf),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("no", "no"),
        ("Yes", "Yes"),
        ("on", "on"),
        ("y", "y"),
        ("12:30", "12:30"),
        ("1:2:3", "1:2:3"),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("2021-03-12", "2021-03-12"),
        ("=", "="),
        ("tRUE", "tRUE"),
        ("1e", "1e"),
        ("1.2.3", "1.2.3"),
        ("'1e-3'", "1e-3"),
        ('"\\u0c15"', "క"),
        ("నేను", "నేను"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text, value):
    found = parse_yaml(f"key: {text}", WHERE)["key"]
    assert (found, type(found)) == (value, type(value))


def test_nan_is_a_number():
    assert math.isnan(parse_yaml("key: .nan", WHERE)["key"])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: 2\na: 3", 3),
        ("a: {b: 1, c: 2, b: 3}", 1),
        ("a:\n  b: 1\n  b: 1", 3),
        ("- {x: 1, x: 2}", 1),
    ],
)
def test_a_key_stands_once(text, line):
    message = yaml_fails(text)
    assert message.startswith(f"{WHERE}:{line}: expected YAML; key ")
    assert message.endswith("stands twice")


def test_merge_keys_may_be_overridden_and_reused():
    text = "base: &a {x: 1, y: 1}\ninner: {deep: &b {<<: *a, x: 2}}\nlast: {<<: *b, x: 3}"
    tree = parse_yaml(text, WHERE)
    assert tree["inner"]["deep"] == {"x": 2, "y": 1}
    assert tree["last"] == {"x": 3, "y": 1}


@pytest.mark.parametrize(
    "text", ["? [a, b]\n: 1", "? {a: 1}\n: 1", "a: [1", "a: b: c", "\ta: 1", "a: *missing"]
)
def test_what_is_no_configuration_is_refused(text):
    assert yaml_fails(text).startswith(f"{WHERE}:1: expected YAML; ")


@pytest.mark.parametrize("text", ["key: \x00", "key: \ud800", f"key: {'9' * 5000}"])
def test_what_is_no_yaml_at_all_is_refused(text):
    assert yaml_fails(text).startswith(f"{WHERE}: expected YAML; ")


def test_CKP_11_a_tag_runs_no_code(tmp_path):
    marker = tmp_path / "marker"
    tags = [
        f"!!python/object/apply:os.mkdir ['{marker}']",
        f"!!python/object/new:pathlib.Path ['{marker}']",
        "!!python/name:os.system",
        "!!python/module:os",
        "!include secret.yaml",
    ]
    for tag in tags:
        message = yaml_fails(f"data: {tag}")
        assert message.startswith(f"{WHERE}: refused: unsafe content: could not determine a constructor")
        with pytest.raises(ConfigError, match="unsafe content"):
            parse_override(f"data={tag}")
    assert not marker.exists()


def test_a_byte_order_mark_is_no_text():
    assert parse_yaml("\ufeffa: 1", WHERE) == {"a": 1}


@pytest.mark.parametrize(
    ("override", "tree"),
    [
        ("a=1", {"a": 1}),
        ("a.b.c=1e-3", {"a": {"b": {"c": 0.001}}}),
        ("a=b=c", {"a": "b=c"}),
        ("a=", {"a": None}),
        ("a=null", {"a": None}),
        ("a={b: [1, no]}", {"a": {"b": [1, "no"]}}),
        ("a='1'", {"a": "1"}),
    ],
)
def test_an_override_is_a_path_and_yaml(override, tree):
    assert parse_override(override) == tree


@pytest.mark.parametrize("override", ["a", "", "=1", ".a=1", "a.=1", "a..b=1"])
def test_an_override_needs_a_whole_path(override):
    with pytest.raises(ConfigError, match=r"expected key.path=value"):
        parse_override(override)


def test_a_fault_in_an_override_names_it():
    with pytest.raises(
        ConfigError, match=r"override 'a=\[1': expected YAML|override 'a=\[1':1: expected YAML"
    ):
        parse_override("a=[1")


@pytest.mark.parametrize(
    ("base", "changes", "merged"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 5}}, {"a": 1, "b": {"c": 5, "d": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
        ({"name": "red", "coats": 2}, {"name": "mixed", "label": "x"}, {"name": "mixed", "label": "x"}),
        ({"name": "red", "coats": 2}, {"name": "red", "gloss": 1}, {"name": "red", "coats": 2, "gloss": 1}),
        ({"name": "red", "coats": 2}, {"gloss": 1}, {"name": "red", "coats": 2, "gloss": 1}),
        ("red", {"coats": 2}, {"name": "red", "coats": 2}),
        ("red", "mixed", "mixed"),
        ({"name": "red", "coats": 2}, "mixed", "mixed"),
        (None, {"coats": 2}, {"coats": 2}),
        (5, {"coats": 2}, {"coats": 2}),
    ],
)
def test_changes_are_laid_over_key_by_key(base, changes, merged):
    before = json.dumps(base)
    assert merge(base, changes) == merged
    assert json.dumps(base) == before


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(trees)
@example("a\x85b \u2028c\u2029 \r\n d\n")
@example({"\x85": "\x85", "1e-3": "no", "": [" ", "- x", "a: b", "#"]})
def test_yaml_gives_back_what_was_written(tree):
    assert parse_yaml(dump_yaml({"tree": tree}), WHERE) == {"tree": tree}


def some(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


numbers = st.floats(allow_nan=False)
reds = some(
    {"name": st.just("red")}, coats=st.integers(), gloss=numbers, tone=st.sampled_from(["dark", "light"])
)
primers = st.just("plain") | some({}, layers=st.integers(), thin=st.booleans())
mixtures = some({"name": st.just("mixed")}, base=primers, label=texts, parts=st.none() | st.integers())
paints = st.sampled_from(["red", "mixed"]) | reds | mixtures
houses = some(
    {"owner": texts},
    wall=paints,
    roof=st.none() | paints,
    rooms=st.integers(),
    size=st.just("auto") | numbers,
    garden=some({}, trees=st.integers(), fence=st.booleans()),
)


@given(houses)
def test_load_of_dump_is_identity(tree):
    first = validate(House, tree, WHERE)
    again = validate(House, parse_yaml(dump_yaml(first.model_dump()), WHERE), WHERE)
    assert again == first
    assert again.model_dump() == first.model_dump()


def references(tree: Any) -> set[str]:
    if isinstance(tree, list):
        return set().union(*map(references, tree))
    if not isinstance(tree, dict):
        return set()
    own = {tree["$ref"]} if isinstance(tree.get("$ref"), str) else set()
    return own.union(*map(references, tree.values()))


def test_the_json_schema_is_whole():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema = json.loads(json.dumps(Experiment.model_json_schema()))
    assert references(schema) == {f"#/$defs/{name}" for name in schema["$defs"]}
    assert schema["required"] == ["data"]
    assert schema["additionalProperties"] is False
    search = schema["properties"]["search"]
    assert search["default"]["width"] == 5
    assert search["anyOf"][0] == {"enum": ["beam", "sampling"]}
    beam = search["anyOf"][1]["properties"]
    assert beam["name"] == {"const": "beam"}
    assert beam["policy"]["enum"] == ["top_k", "pools"]
    train = schema["$defs"]["DataSettings"]["properties"]["train"]
    assert {"type": "string"} in train["anyOf"]  # a path


def test_the_json_schema_of_our_own_settings_lists_every_component():
    schema = House.model_json_schema()
    wall = schema["properties"]["wall"]
    assert wall["anyOf"][0] == {"enum": ["red", "mixed"]}
    assert [part["properties"]["name"]["const"] for part in wall["anyOf"][1:]] == ["red", "mixed"]
    assert wall["anyOf"][1]["properties"]["coats"]["type"] == "integer"
    assert wall["default"] == {"name": "red", "coats": 1, "gloss": 0.5, "tone": "dark"}
