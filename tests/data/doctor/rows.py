"""Rows from pairs, and what a check finds in them."""

from collections.abc import Iterable

import transduce.data.doctor
from transduce.data.doctor.base import Check, Finding
from transduce.data.doctor.window import windows
from transduce.data.pairs import Row

assert transduce.data.doctor  # registers the checks

ODD = "aAbé\u0301\u00a0\u200b\u200d\ufeff\x07\ufffdÃ©ЖЯΩ జ్ఞ1१?!.\t"


def rows(pairs: Iterable[tuple[str, str]]) -> list[Row]:
    return [Row(line, *pair) for line, pair in enumerate(pairs, 1)]


def found(check: Check | str, pairs: Iterable[tuple[str, str]]) -> list[Finding]:
    chosen = Check.family[check]() if isinstance(check, str) else check
    for window in windows(rows(pairs)):
        chosen.look(window)
    return list(chosen.findings())


def only(check: Check | str, pairs: Iterable[tuple[str, str]]) -> Finding:
    (finding,) = found(check, pairs)
    return finding
