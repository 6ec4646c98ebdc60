"""Digits and last marks, where they agree as a rule and where they do not."""

import pytest

from tests.data.doctor.rows import found, only
from transduce.data.doctor.agreement import digits, last_mark


@pytest.mark.parametrize(
    ("text", "value"),
    [("15 August 1947", "114579"), ("౧౯౪౭", "1479"), ("1,947", "1479"), ("none", ""), ("x²", ""), ("٣", "3")],
)
def test_digits_are_values_whatever_the_script(text, value):
    assert digits(text) == value


@pytest.mark.parametrize(
    ("text", "kind"),
    [("Why?", "?"), ("なぜ？", "?"), ("لماذا؟", "?"), ("Γιατί;", "?"), ("Go!", "!"), ("है।", "."),
     ('"So."', "."), ("(Why?) ", "?"), ("so…", "."), ("no", ""), ("", ""), ("a.b", "")],
)  # fmt: skip
def test_the_last_mark_is_seen_through_what_closes(text, kind):
    assert last_mark(text) == kind


@pytest.mark.parametrize(("check", "same", "other"), [("digits", "7 b", "8 b"), ("last_marks", "a.", "a!")])
def test_the_exceptions_to_a_rule_are_shown(check, same, other):
    pairs = [(same, same)] * 19 + [("none", same)] * 5
    assert found(check, [*pairs, (same, other)])[0].lines == [25]
    assert found(check, pairs) == []
    assert found(check, [*pairs[1:], (same, other)]) == []  # 19 compared: too few for a rule
    finding = only(check, [*pairs, *[(same, other)] * 4])
    assert (finding.level, finding.count, finding.lines) == ("note", 4, [25, 26, 27, 28])
    assert finding.values == {"compared": 23}
    assert finding.examples == [f"{line}: {same} | {other}" for line in (25, 26)]
    assert "4 of 23 pairs" in finding.text
    assert found(check, [*pairs, *[(same, other)] * 5]) == []  # 5 of 24: no rule any more
