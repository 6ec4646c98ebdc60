"""JSON Lines of pairs: what is read, and every refusal with its line."""

import gzip
import json
from pathlib import Path

import pytest

from transduce.data.pairs import Pair, Pairs, Place
from transduce.data.sources.jsonl import JsonLinesFile
from transduce.errors import DataError

GOOD = '{"source": "a", "target": "1"}\n'


def jsonl(folder: Path, content: str | bytes, *columns: int | str | None) -> Pairs:
    path = folder / "t.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return JsonLinesFile(Place("train", 1, *columns), path=str(path)).read()


def fails(folder: Path, line: str) -> str:
    """The error for a line that stands second, without the place, which is checked."""
    with pytest.raises(DataError) as caught:
        jsonl(folder, GOOD + line)
    where = f"{folder / 't.jsonl'}:2: "
    assert str(caught.value).startswith(where)
    return str(caught.value).removeprefix(where)


def test_objects_are_pairs_whatever_else_they_hold(tmp_path):
    text = GOOD + '  {"target": "రెండు", "id": [1, {"source": null}], "source": "t\\u0077o"}\r\n'
    assert jsonl(tmp_path, text).pairs == [Pair("a", "1"), Pair("two", "రెండు")]


def test_keys_are_chosen_by_name_each_by_itself(tmp_path):
    text = '{"en": "one", "te": "ఒకటి", "target": "t"}'
    assert jsonl(tmp_path, text, "en", "te").pairs == [("one", "ఒకటి")]
    assert jsonl(tmp_path, text, "en", None).pairs == [("one", "t")]
    with pytest.raises(DataError, match="expected the name of a key of JSON Lines; got column number 2"):
        jsonl(tmp_path, text, "en", 2)


def test_DAT_05_a_byte_order_mark_is_no_text(tmp_path):
    assert jsonl(tmp_path, "\ufeff" + GOOD + "\ufeff" + GOOD).pairs == [("a", "1")] * 2
    assert jsonl(tmp_path, '{"source": "\ufeffa", "target": "\\ufeff1\ufeff"}').pairs == [("a", "1\ufeff")]


def test_DAT_06_blank_sides_and_lines_are_skipped_and_counted(tmp_path):
    text = GOOD + '\n{"source": " ", "target": "x"}\n{"source": "x", "target": ""}\n' + GOOD
    found = jsonl(tmp_path, text)
    assert (found.skipped, found.lines) == ([2, 3, 4], [1, 5])


def test_only_lf_parts_objects(tmp_path):
    assert jsonl(tmp_path, '{"source": "a\u2028b", "target": "\\u2029x\x85"}').pairs == [
        ("a\u2028b", "\u2029x\x85")
    ]


def test_packed_files_are_read_as_they_are(tmp_path):
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD.encode() * 3))
    assert len(JsonLinesFile(Place(), path=str(path)).read().pairs) == 3


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("1", "a number"),
        ("1.5", "a number"),
        ("null", "null"),
        ("true", "true or false"),
        ("{}", "an object"),
    ],
)
@pytest.mark.parametrize("side", ["source", "target"])
def test_only_text_is_a_side(tmp_path, side, value, kind):
    other = "target" if side == "source" else "source"
    assert fails(tmp_path, f'{{"{side}": {value}, "{other}": "x"}}') == f"{side}: expected text; got {kind}"


def test_several_answers_are_refused_with_the_way_to_score_them(tmp_path):
    message = fails(tmp_path, '{"source": "a", "target": ["1", "2"]}')
    assert message.startswith("target: expected text; got a list; several accepted answers")
    assert "--references" in message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source": "a", "target": "1",}', "expected JSON; "),
        ('{"source": "a" "target": "1"}', "expected JSON; "),
        ("{'source': 'a'}", "expected JSON; "),
        ("a\t1", "expected JSON; Expecting value at character 1"),
        (GOOD.strip() + GOOD.strip(), "expected JSON; Extra data at character 31"),
        ('["a", "1"]', "expected one JSON object a line; got a list"),
        ('"a"', "expected one JSON object a line; got text"),
        ("{}", "unknown key 'source'; known: "),
        ('{"source": "a", "source": "b", "target": "1"}', "expected JSON; key 'source' stands twice"),
        ('{"source": "a", "target": "1", "x": {"y": 1, "y": 1}}', "expected JSON; key 'y' stands twice"),
        (
            '{"source": "a\\nb", "target": "1"}',
            "source: expected one line of text; got a line end at character 2",
        ),
        (
            '{"source": "a", "target": "1\\u0000"}',
            "target: expected text; got a NUL at character 2",
        ),
        (
            '{"source": "a", "target": "\\ud800"}',
            "target: expected whole characters; got half of a surrogate pair",
        ),
        ("[" * 100_000, "expected JSON; "),
    ],
)
def test_a_line_that_holds_no_pair_is_refused_where_it_stands(tmp_path, line, message):
    assert fails(tmp_path, line).startswith(message)


def test_a_misspelt_key_is_answered_with_the_nearest(tmp_path):
    message = fails(tmp_path, '{"sources": "a", "target": "1"}')
    assert message.startswith("unknown key 'source'; did you mean 'sources'? (choose with data.source_column")


def test_escapes_are_characters(tmp_path):
    source = '\U0001f600\u200d\ufeff\t\\"'
    assert jsonl(tmp_path, json.dumps({"source": source, "target": "\u0301"})).pairs == [(source, "\u0301")]
