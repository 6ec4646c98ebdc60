"""Lengths beyond which pairs are not trained on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.data.limits import Admission, Limits

LENGTHS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)))
LIMIT = st.none() | st.integers(1, 7)


@given(LENGTHS, LIMIT, LIMIT)
def test_pairs_within_every_limit_are_admitted_and_the_others_counted(lengths, source, target):
    tally = Admission(Limits(source, target))
    for line, (s, t) in enumerate(lengths, 1):
        within = (source is None or s <= source) and (target is None or t <= target)
        assert tally.admits(line, s, t) is within
    assert tally.seen == len(lengths)
    if tally.over:
        assert tally.report().startswith(f"{tally.over} of {len(lengths)} skipped: ")
    else:
        assert tally.report() is None


@pytest.mark.parametrize(
    ("limits", "report"),
    [
        (Limits(), None),
        (Limits(5, 5), None),
        (Limits(4, None), "1 of 4 skipped: source longer than 4 (line 7)"),
        (Limits(None, 2), "2 of 4 skipped: target longer than 2 (lines 7, 9)"),
        (Limits(4, 2), "2 of 4 skipped: source longer than 4 (line 7), target longer than 2 (lines 7, 9)"),
        (Limits(4, 3), "2 of 4 skipped: source longer than 4 (line 7), target longer than 3 (line 9)"),
    ],
)
def test_the_report_names_limits_and_lines(limits, report):
    tally = Admission(limits)
    for line, lengths in zip([3, 9, 7, 8], [(1, 1), (1, 4), (5, 3), (4, 2)], strict=True):
        tally.admits(line, *lengths)
    lines = dict.fromkeys((3, 7, 8, 9), 0)
    assert len(lines) == tally.seen
    found = tally.report()
    assert found == (report and report.replace("lines 7, 9", "lines 9, 7"))


def test_only_the_first_lines_are_kept_however_many_there_are():
    tally = Admission(Limits(1, None))
    for line in range(1, 10_000):
        tally.admits(line, 2, 1)
    assert tally.report() == "9999 of 9999 skipped: source longer than 1 (lines 1, 2, 3, 4, 5, …)"
    assert len(tally.exceeding["source longer than 1"].lines) == 6
