"""Duplicates, ambiguity and copies, against sets and dictionaries."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.doctor.rows import found, only

FEW = st.sampled_from(["a", "b", "A", "a b", "é"])
PAIRS = st.lists(st.tuples(FEW, FEW), min_size=1, max_size=20)


@given(PAIRS)
def test_duplicates_are_all_but_the_first(pairs):
    repeats = [line for line, pair in enumerate(pairs, 1) if pair in pairs[: line - 1]]
    findings = found("duplicates", pairs)
    assert [(f.level, f.count, f.lines) for f in findings] == [("fault", len(repeats), repeats)] * bool(
        repeats
    )


@given(PAIRS)
@pytest.mark.parametrize(("check", "side"), [("several_targets", 0), ("several_sources", 1)])
def test_texts_with_several_others_beside_them(check, side, pairs):
    others = defaultdict(set)
    for pair in pairs:
        others[pair[side]].add(pair[1 - side])
    several = {text for text, beside in others.items() if len(beside) > 1}
    lines = [line for line, pair in enumerate(pairs, 1) if pair[side] in several]
    wanted = [("note", len(several), lines, {"pairs": len(lines)})] * bool(several)
    assert [(f.level, f.count, f.lines, f.values) for f in found(check, pairs)] == wanted


@given(PAIRS)
def test_copies(pairs):
    lines = [line for line, (source, target) in enumerate(pairs, 1) if source == target]
    assert [(f.count, f.lines) for f in found("copies", pairs)] == [(len(lines), lines)] * bool(lines)


def test_findings_in_words():
    pairs = [("a", "b"), ("a", "b"), ("a", "c"), ("d", "d")]
    assert only("duplicates", pairs).text == "1 pair (25 %) in an earlier line too"
    assert only("several_targets", pairs).text == "1 source with several different targets, in 3 pairs"
    assert only("copies", pairs).text == "1 pair (25 %) with the same text on both sides"
    assert only("copies", [("x", "x"), *[("a", "b")] * 2000]).text.startswith("1 pair (below 0.1 %)")
    assert only("copies", [("x", "x"), *[("a", "b")] * 199]).text.startswith("1 pair (0.5 %)")


def test_blank_sides():
    finding = only("blank_sides", [("a", "b"), ("", "b"), ("a", "\u3000"), ("\t", " ")])
    assert (finding.level, finding.count, finding.lines) == ("fault", 3, [2, 3, 4])
