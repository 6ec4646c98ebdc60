"""What is refused before scoring, and the two ways to nest several references."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transduce.errors import DataError
from transduce.metrics import by_line, check_lengths
from transduce.metrics.references import accepted, by_rank, count_references


@pytest.mark.parametrize(("hypotheses", "references"), [(3, 2), (2, 3), (0, 1), (1, 0), (1000, 999)])
def test_different_lengths_are_refused_naming_both(hypotheses: int, references: int) -> None:
    with pytest.raises(DataError, match=rf"\b{hypotheses} hypotheses and {references} references"):
        check_lengths(["a"] * hypotheses, ["a"] * references)


def test_an_empty_corpus_is_refused() -> None:
    with pytest.raises(DataError, match="at least one line"):
        check_lengths([], [])


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        (["a", "b", "c"], [["a", "b", "c"]], "3 hypotheses and 1 references; .*line by line"),
        (["a", "b", "c"], [["a", "b", "c"]] * 2, "3 hypotheses and 2 references; .*line by line"),
        (["a", "b"], ["a", []], "references: line 2: expected at least one answer; got none"),
        (["a"], [["a", None]], "references: line 1: answer 2: expected text; got NoneType"),
        (["a"], [[["a"]]], "references: line 1: answer 1: expected text; got list"),
        (["a"], [b"a"], "references: line 1: expected text; got bytes"),
        (["a"], [{"a"}], "references: line 1: expected text; got set"),
        ([["a"], ["b"]], ["a", "b"], "hypotheses: line 1: expected text; got list"),
        (["a", None], ["a", "b"], "hypotheses: line 2: expected text; got NoneType"),
        ("abc", ["a", "b", "c"], "hypotheses: expected a list of lines; got one text"),
        (["a", "b", "c"], "abc", "references: expected a list of lines; got one text"),
    ],
)
def test_MET_01_wrong_nesting_is_refused(hypotheses: object, references: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_lengths(hypotheses, references)


def test_lines_of_any_text_pass() -> None:
    check_lengths(["", " ", "a\u2028b"], ("", "x", "నేను"))
    check_lengths(["", "a"], [["", "x"], ("y",)])


def test_a_plain_line_is_its_only_answer() -> None:
    assert accepted(["h", "h", "h"], ["a", ["b"], ("c", "d")]) == [("a",), ("b",), ("c", "d")]
    assert accepted(["h"], ["abc"]) == [("abc",)]


@pytest.mark.parametrize(
    ("answers", "count"),
    [([("a",)], "1"), ([("a", "b"), ("c", "d")], "2"), ([("a",), ("c", "d")], "var")],
)
def test_references_are_counted(answers: list[tuple[str, ...]], count: str) -> None:
    assert count_references(answers) == count


def test_streams_are_turned_into_lines() -> None:
    assert by_line([["a", "b"]]) == [("a",), ("b",)]
    assert by_line([["a", "b"], ["c", None]]) == [("a", "c"), ("b",)]
    assert by_line([(None, ""), ("c", None)]) == [("c",), ("",)]


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.lists(st.text("ab", max_size=2), min_size=1, max_size=3).map(tuple), min_size=1, max_size=4)
)
def test_turning_back_and_forth_changes_nothing(answers: list[tuple[str, ...]]) -> None:
    assert by_line(by_rank(answers)) == answers


@pytest.mark.parametrize(
    ("streams", "message"),
    [
        ([["a", "b"], ["c"]], "the same number of lines in each; got 1, 2"),
        (["ab", "cd"], "expected lists of lines; got one text"),
        ([], "got no references"),
        ([["a", None], ["b", None]], "references: line 2: expected an answer; got none"),
    ],
)
def test_streams_that_do_not_fit_are_refused(streams: list[list[str | None]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        by_line(streams)
