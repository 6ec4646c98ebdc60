"""What is installed, and which recipes there are."""

import json
import platform
from importlib.metadata import version

from transduce.experiment import families
from transduce.recipes import texts


def test_info_names_versions_and_components(command):
    done = command("info")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0].startswith(f"transduce {version('transduce')}, Python {platform.python_version()}")
    rows = dict(line.split(maxsplit=1) for line in done.lines[1:])
    assert rows["torch"] == version("torch")
    for family, names in families().items():
        assert rows[family] == ", ".join(names)


def test_the_schema_is_json_for_editors(command):
    done = command("info", "--schema")
    assert (done.code, done.err) == (0, "")
    schema = json.loads(done.out)
    assert set(schema["properties"]) == {
        "format",
        "name",
        "data",
        "tokenizer",
        "model",
        "train",
        "search",
        "seed",
    }


def test_recipes_are_listed_with_what_they_are(command):
    done = command("recipes")
    assert (done.code, done.err) == (0, "")
    assert [line.split()[0] for line in done.lines] == list(texts())
    for line, text in zip(done.lines, texts().values(), strict=True):
        assert line.split(maxsplit=1)[1] == text.split("\n")[0].removeprefix("# ")


def test_a_recipe_is_printed_as_it_is(command):
    for name, text in texts().items():
        assert command("recipes", name).out == text
