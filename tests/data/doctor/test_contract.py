"""Laws of every check: they hold for whatever the family holds."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.doctor.rows import ODD, found, rows
from transduce.data.doctor import window
from transduce.data.doctor.base import Check
from transduce.data.doctor.examine import examine
from transduce.data.lines import is_blank
from transduce.data.tally import MOST_LINES, Tally

TEXT = st.text(st.sampled_from(ODD), max_size=6)
PAIRS = st.lists(st.tuples(TEXT, TEXT), max_size=12)
CLEAN = [
    (f"word{chr(97 + n % 26)}{'x' * (n % 7)} {n}", f"wort{chr(97 + n % 26)}{'y' * (n % 7)} {n}")
    for n in range(300)
]


@pytest.mark.parametrize("name", Check.family)
@settings(max_examples=25)
@given(pairs=PAIRS, size=st.integers(1, 5))
def test_where_windows_are_cut_changes_nothing(name, pairs, size):
    whole, before = found(name, [*pairs, ("a", "b")]), window.SIZE
    window.SIZE = size
    try:
        assert found(name, [*pairs, ("a", "b")]) == whole
    finally:
        window.SIZE = before


@given(PAIRS)
def test_every_finding_is_plain_and_names_lines_that_are_there(pairs):
    diagnosis = examine(rows(pairs))
    assert (diagnosis.lines, diagnosis.pairs) == (
        len(pairs),
        sum(not (is_blank(source) or is_blank(target)) for source, target in pairs),
    )
    again = json.loads(json.dumps(diagnosis.plain()))
    assert again["faults"] + again["notes"] <= len(again["findings"]) == len(diagnosis.findings)
    for finding in diagnosis.findings:
        assert finding.level in ("fault", "note", "fact")
        assert finding.count > 0 or finding.check == "pairs"
        assert finding.lines == sorted({*finding.lines})
        assert {*finding.lines} <= {*range(1, len(pairs) + 1)}
        assert finding.text


@pytest.mark.parametrize("name", Check.family)
def test_clean_pairs_give_no_fault_and_no_note(name):
    assert [finding for finding in found(name, CLEAN) if finding.level != "fact"] == []


def test_a_tally_keeps_the_first_lines_however_they_come():
    tally = Tally()
    for start in range(1, 301, 60):
        tally.add(range(start, start + 60))
    assert (tally.count, tally.lines) == (300, list(range(1, MOST_LINES + 1)))


def test_line_numbers_that_are_kept_are_few():
    diagnosis = examine(rows([("a", " ")] * 500 + [("a", "b")] * 501))
    counts = {finding.check: (finding.count, len(finding.lines)) for finding in diagnosis.of("fault")}
    assert counts == {"blank_sides": (500, MOST_LINES), "duplicates": (500, MOST_LINES)}


@pytest.mark.parametrize("pairs", [[], [("", "x")], [(" ", " ")] * 3])
def test_rows_without_a_pair_are_a_fault_of_their_own(pairs):
    diagnosis = examine(rows(pairs))
    assert [(finding.check, finding.level) for finding in diagnosis.findings] == [("pairs", "fault")]
    assert (diagnosis.lines, diagnosis.pairs) == (len(pairs), 0)


@given(pairs=st.lists(st.tuples(TEXT, TEXT), max_size=20), size=st.integers(1, 4))
def test_windows_hold_every_row_once(pairs, size):
    before, window.SIZE = window.SIZE, size
    try:
        cut = list(window.windows(rows(pairs)))
    finally:
        window.SIZE = before
    lines = [int(line) for one in cut for line in one.lines]
    assert sorted(lines + [line for one in cut for line in one.blank]) == list(range(1, len(pairs) + 1))
    for one in cut:
        for line, source, target in zip(one.lines, one.source.texts, one.target.texts, strict=True):
            assert (source, target) == pairs[line - 1]
            assert not is_blank(source)
            assert not is_blank(target)


@given(st.lists(TEXT, min_size=1))
def test_a_side_counts_as_python_does(texts):
    side = window.Side(texts)
    whole = "".join(texts)
    assert side.lengths.tolist() == [len(text) for text in texts]
    assert side.present == sorted(set(whole))
    assert [int(side.counts[ord(one)]) for one in side.present] == [whole.count(one) for one in side.present]
    for one in side.present:
        assert side.rows_with([one]).tolist() == [
            row for row, text in enumerate(texts) for _ in range(text.count(one))
        ]
