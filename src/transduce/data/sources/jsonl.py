"""JSON Lines: one object a line, its keys the columns."""

import json
from collections.abc import Iterator
from typing import Any

from transduce.data.lines import BOM, is_blank, read_lines
from transduce.data.pairs import FileSource, Place, Row
from transduce.errors import DataError, unknown

KINDS = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list"}
KINDS |= {dict: "an object", type(None): "null"}


class JsonLinesFile(FileSource, name="jsonl"):
    """One JSON object a line; `source_column` and `target_column` name its keys, "source" and "target"."""

    paths = ("path",)
    suffixes = (".jsonl", ".jsonl.gz")

    def __init__(self, place: Place, *, path: str) -> None:
        self.path, self.files = path, (path,)
        self.keys = (_key(place.source_column, "source"), _key(place.target_column, "target"))

    def rows(self, epoch: int = 0) -> Iterator[Row]:
        for number, line in enumerate(read_lines(self.path), 1):
            if is_blank(line):
                yield Row(number, "", "")
            else:
                where = f"{self.path}:{number}"
                found = _object(line, where)
                source, target = (_text(found, key, where) for key in self.keys)
                yield Row(number, source, target)


def _key(column: int | str | None, default: str) -> str:
    if isinstance(column, int):
        raise DataError(f"data: expected the name of a key of JSON Lines; got column number {column}")
    return default if column is None else column


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: expected JSON; {error.msg} at character {error.pos + 1}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: expected JSON; {error}") from None
    if not isinstance(found, dict):
        raise DataError(f"{where}: expected one JSON object a line; got {KINDS[type(found)]}")
    return found


def _once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys each stand once: of two values, JSON does not say which is meant."""
    found = dict(items)
    if len(found) < len(items):
        keys = [key for key, _ in items]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"key {twice!r} stands twice")
    return found


def _text(found: dict[str, Any], key: str, where: str) -> str:
    """The text under a key: one line of whole characters, as every other file holds."""
    if key not in found:
        hint = "choose with data.source_column and data.target_column, or inspect --columns"
        raise DataError(f"{where}: {unknown('key', key, found)} ({hint})")
    value = found[key]
    if not isinstance(value, str):
        raise DataError(f"{where}: {key}: expected text; got {KINDS[type(value)]}{_hint(value)}")
    if "\n" in value:
        place = value.index("\n") + 1
        raise DataError(f"{where}: {key}: expected one line of text; got a line end at character {place}")
    if "\0" in value:
        place = value.index("\0") + 1
        raise DataError(f"{where}: {key}: expected text; got a NUL at character {place}")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise DataError(f"{where}: {key}: expected whole characters; got half of a surrogate pair")
    return value.removeprefix(BOM)


def _hint(value: object) -> str:
    several = "; several accepted answers are scored with: transduce evaluate --hypotheses … --references …"
    return several if isinstance(value, list) else ""
