"""Where two runs differ, for those who would put them together."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

NOTHING = object()


class Difference(NamedTuple):
    """The first place at which two trees of plain values differ, and what stands there in each."""

    path: str
    one: Any
    other: Any

    def __str__(self) -> str:
        return f"{self.path}: {shown(self.one)} against {shown(self.other)}"


def first_difference(one: Any, other: Any, path: str = "") -> Difference | None:
    """Compares plain values, key by key and place by place."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        parts = [(key, one.get(key, NOTHING), other.get(key, NOTHING)) for key in {**one, **other}]
    elif isinstance(one, list) and isinstance(other, list):
        parts = [
            (place, *pair)
            for place, pair in enumerate(zip_longest(one, other, fillvalue=NOTHING))
            if one != other
        ]
    else:
        return None if one == other else Difference(path, one, other)
    found = (first_difference(mine, its, f"{path}.{key}" if path else str(key)) for key, mine, its in parts)
    return next(filter(None, found), None)


def shown(value: Any) -> str:
    return "nothing" if value is NOTHING else repr(value)
