"""A diagnosis as text for people."""

import re
import textwrap
from collections.abc import Iterator
from typing import Any

from transduce.data.doctor.base import Finding, many
from transduce.data.doctor.examine import Diagnosis
from transduce.data.pairs import listed

WIDTH = 110  # columns
INDENT = 26  # columns before the text of a finding
MOST = 160  # characters of an example
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # those that turn the line, too
MENDS = {"blank_sides": "", "duplicates": "", "normal_forms": " --normal-form nfc"}  # options beside --fix


def report(diagnosis: Diagnosis) -> Iterator[str]:
    """The lines of a report: sizes, alphabets, faults, notes."""
    yield f"{many(diagnosis.lines, 'line')}, {many(diagnosis.pairs, 'pair')}"
    if lengths := [finding for finding in diagnosis.of("fact") if finding.check == "lengths"]:
        yield ""
        yield from table(lengths)
    yield ""
    for level in ("fact", "fault", "note"):
        for finding in diagnosis.of(level):
            if finding not in lengths:
                yield from entry(finding)


def table(findings: list[Finding]) -> Iterator[str]:
    """Lengths, a row for each side and unit, right-aligned."""
    rows = [["", *findings[0].values]]
    rows += [[finding.text, *(f"{value:,}" for value in finding.values.values())] for finding in findings]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *cells in rows:
        padded = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *padded])


def entry(finding: Finding) -> Iterator[str]:
    """A finding: level, check, what was found and where; examples below."""
    level = "" if finding.level == "fact" else finding.level
    head = f"{level:<7}{shown(finding.check):<{INDENT - 7}}"
    where = f" ({listed(finding.lines)})" if finding.lines else ""
    wrapper = textwrap.TextWrapper(WIDTH, subsequent_indent=" " * INDENT, break_on_hyphens=False)
    yield from wrapper.wrap(f"{head}{finding.text}{where}")
    yield from (" " * INDENT + visible(example) for example in finding.examples)


def visible(example: str) -> str:
    """Text from the data as a terminal may have it: short, and control characters by number."""
    short = example if len(example) <= MOST else f"{example[:MOST]}…"
    return CONTROL.sub(lambda found: f"<U+{ord(found[0]):04X}>", short)


def verdict(diagnosis: Diagnosis, data: str, use: str) -> str:
    """One line: how it stands, and what to do next; `use` is what data without fault is good for."""
    faults, notes = diagnosis.of("fault"), diagnosis.of("note")
    count = many(len(faults), "fault") if faults else "no faults"
    stands = f"{count}, {many(len(notes), 'note')}"
    if not faults:
        return f"{stands}; next: {use}"
    mends = dict.fromkeys(MENDS[fault.check] for fault in faults if fault.check in MENDS)
    if not diagnosis.pairs:
        return f"{stands}; next: give it lines with text on both sides"
    others = ", ".join(dict.fromkeys(shown(fault.check) for fault in faults if fault.check not in MENDS))
    steps = [f"look at the lines named beside {others}"] if others else []
    if mends:
        tabs = any(finding.values.get("code_point") == "U+0009" for finding in faults)
        copy = "clean.jsonl" if tabs else "clean.tsv"  # a column of TSV holds no tab
        steps.append(f"transduce inspect {data} --fix {copy}{''.join(mends)}")
    return f"{stands}; next: {'; '.join(steps)}"


def shown(check: str) -> str:
    return check.replace("_", " ")


def changes(counts: dict[str, Any]) -> str:
    """One line on what a cleaned copy holds and what it leaves out."""
    left_out = (
        f"left out {many(counts['blank_sides'], 'blank line')}, {many(counts['duplicates'], 'duplicate')}"
    )
    changed = f"normal form changed in {many(counts['normalised'], 'pair')}"
    written = (
        f"wrote {counts['file']}: {many(counts['pairs'], 'pair')} in two columns, no header, lines end in LF"
    )
    return f"{written}; {left_out}; {changed}"
