"""Alignments by hand-made matrices, and the error rate by its formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.errors import DataError
from transduce.metrics.alignment import (
    GoldAlignment,
    alignment_score,
    check_links,
    format_links,
    link_words,
    locate,
    parse_links,
    word_places,
)

LINKS = st.frozensets(st.tuples(st.integers(0, 12), st.integers(0, 12)))


def gold(sure: str, possible: str = "") -> GoldAlignment:
    return parse_links(f"{sure} {possible}", "gold:1")


@pytest.mark.parametrize(
    ("line", "sure", "possible"),
    [
        ("", set(), set()),
        ("  ", set(), set()),
        ("0-0", {(0, 0)}, {(0, 0)}),
        (" 3-1  0-10 ", {(3, 1), (0, 10)}, {(3, 1), (0, 10)}),
        ("0-0 1?2", {(0, 0)}, {(0, 0), (1, 2)}),
        ("1p2 0-0", {(0, 0)}, {(0, 0), (1, 2)}),
        ("1p2 1-2 1-2", {(1, 2)}, {(1, 2)}),
    ],
)
def test_pharaoh_lines_are_read(line: str, sure: set, possible: set) -> None:
    assert parse_links(line, "x:1") == (frozenset(sure), frozenset(possible))


@pytest.mark.parametrize(
    "line", ["0", "0-", "-1-0", "a-b", "0:1", "0-0,1-1", "0-0\t1-1", "0–1", "٠-١", "1.0-2", "0-0-0", "0 -0"]
)
def test_other_lines_are_refused_with_their_place(line: str) -> None:
    with pytest.raises(DataError, match=r"^gold\.txt:7: expected links such as 0-0"):
        parse_links(line, "gold.txt:7")


@given(LINKS)
def test_what_is_written_is_read_again(links: frozenset) -> None:
    assert parse_links(format_links(links), "x:1") == (links, links)


def test_links_are_written_by_source_word() -> None:
    assert format_links({(10, 0), (2, 5), (2, 1)}) == "2-1 2-5 10-0"
    assert format_links([]) == ""


def test_links_of_words_that_are_not_there_are_refused() -> None:
    check_links(gold("0-0 1-2"), 2, 3, "x:1")
    with pytest.raises(DataError, match=r"^x:4: expected links of 2 source and 3 target words.*got 2-0;"):
        check_links(gold("0-0", "2?0"), 2, 3, "x:4")
    with pytest.raises(DataError, match=r"got 0-3"):
        check_links(gold("0-3"), 2, 3, "x:4")


def test_the_error_rate_by_hand() -> None:
    """A = {0-0, 1-1, 2-3}, S = {0-0, 1-2}, P = S + {1-1}: |A∩S| = 1, |A∩P| = 2."""
    score = alignment_score([{(0, 0), (1, 1), (2, 3)}], [gold("0-0 1-2", "1?1")])
    assert score.aer == pytest.approx(1 - (1 + 2) / (3 + 2))
    assert score.precision == pytest.approx(2 / 3)
    assert score.recall == pytest.approx(1 / 2)
    assert (score.links, score.sure) == (3, 2)


def test_counts_are_summed_over_the_corpus_before_dividing() -> None:
    found = [{(0, 0)}, {(0, 1), (1, 1), (2, 1)}]
    score = alignment_score(found, [gold("0-0"), gold("0-0 1-1 2-2")])
    assert score.aer == pytest.approx(1 - (2 + 2) / (4 + 4))  # the mean of both would be 1/3
    assert (score.precision, score.recall) == (2 / 4, 2 / 4)


@given(st.lists(LINKS, min_size=1, max_size=4))
def test_the_gold_itself_is_best(lines: list) -> None:
    score = alignment_score(lines, [GoldAlignment(line, line) for line in lines])
    assert score[:3] == (0, 1, 1)


@given(LINKS, LINKS, LINKS)
def test_sure_links_alone_make_it_one_minus_f(found: frozenset, sure: frozenset, more: frozenset) -> None:
    both = alignment_score([found], [GoldAlignment(sure, sure)])
    if found and sure:
        total = both.precision + both.recall
        f_score = 2 * both.precision * both.recall / total if total else 0.0
        assert both.aer == pytest.approx(1 - f_score)
    wider = alignment_score([found], [GoldAlignment(sure, sure | more)])
    assert wider.aer <= both.aer + 1e-12
    assert wider.precision >= both.precision
    assert wider.recall == both.recall
    assert all(0 <= value <= 1 for value in wider[:3])


def test_nothing_found_and_nothing_sure() -> None:
    assert alignment_score([set()], [gold("")]) == (0, 1, 1, 0, 0)
    assert alignment_score([set()], [gold("0-0")]) == (1, 1, 0, 0, 1)
    assert alignment_score([{(0, 0)}], [gold("")]) == (1, 0, 1, 1, 0)
    with pytest.raises(DataError, match="got 1 for 2 sentences"):
        alignment_score([set(), set()], [gold("")])


@pytest.mark.parametrize(
    ("text", "offsets", "places"),
    [
        ("ab c", [(0, 1), (1, 2), (2, 3), (3, 4)], [0, 0, None, 1]),
        ("the cat", [(0, 3), (3, 7)], [0, 1]),  # a piece takes the space before it along
        ("  a  b ", [(0, 2), (2, 3), (3, 5), (5, 6), (6, 7)], [None, 0, None, 1, None]),
        ("a b", [(0, 3)], [0]),
        ("a\u00a0b c", [(0, 3), (4, 5)], [0, 1]),
        ("", [], []),
    ],
)
def test_tokens_stand_in_words(text: str, offsets: list, places: list) -> None:
    assert word_places(text, offsets) == places


def test_words_are_counted_as_words_are_split() -> None:
    for text in ("a b", " a  b", "నేను చాలా", "a\tb c", "x"):
        places = word_places(text, [(at, at + 1) for at in range(len(text))])
        assert max(place for place in places if place is not None) + 1 == len(text.split(" ")) - text.count(
            "  "
        ) - (text[0] == " ")


@pytest.mark.parametrize(
    ("tokens", "text", "offsets"),
    [
        (["a", "b"], "a b", [(0, 1), (2, 3)]),
        (["th", "e", " c"], "the c", [(0, 2), (2, 3), (3, 5)]),
        (["a", "a", "aa"], "a a aa", [(0, 1), (2, 3), (4, 6)]),
        ([], "", []),
    ],
)
def test_tokens_are_found_in_their_text(tokens: list, text: str, offsets: list) -> None:
    assert locate(tokens, text) == offsets
    with pytest.raises(ValueError):
        locate([*tokens, "z"], text)


WORDS = [0, 1, 1, 2]  # four source tokens, the two in the middle are one word
MATRIX = np.array(
    [
        [0.40, 0.25, 0.25, 0.05, 0.05],  # the most is on token 0, and on word 1
        [0.10, 0.10, 0.10, 0.60, 0.10],
        [0.50, 0.00, 0.00, 0.40, 0.10],
        [0.00, 0.00, 0.00, 0.00, 1.00],  # all on </s>
    ]
)


def test_a_target_word_is_linked_to_the_source_word_with_the_most() -> None:
    assert link_words(MATRIX, WORDS, [0, 1, 2, 3]) == {(1, 0), (2, 1), (0, 2)}


def test_tokens_of_a_target_word_speak_together() -> None:
    assert link_words(MATRIX, WORDS, [0, 1, 1, 2]) == {(1, 0), (2, 1)}  # word 1: .6, .2, 1.0
    assert link_words(MATRIX, WORDS, [None, 0, 0, None]) == {(2, 0)}


def test_a_threshold_links_all_that_reach_it() -> None:
    assert link_words(MATRIX, WORDS, [0, 1, 2, 3], 0.4) == {(0, 0), (1, 0), (2, 1), (0, 2), (2, 2)}
    assert link_words(MATRIX, WORDS, [0, 1, 1, 2], 0.4) == {(0, 0), (1, 0), (2, 1)}  # word 1: .3, .1, .5
    assert link_words(MATRIX, WORDS, [0, 1, 2, 3], 0.7) == set()


def test_spaces_and_specials_are_no_words() -> None:
    weights = np.array([[0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.9, 0.05, 0.05]])
    assert link_words(weights, [0, None, 1], [0, None, 1]) == {(1, 0), (0, 1)}
    assert link_words(weights, [None, None], [0, 1]) == set()
    assert link_words(weights, [0, 1], [None]) == set()


def test_of_equals_the_first_source_word() -> None:
    assert link_words(np.full((2, 3), 1 / 3), [0, 1], [0]) == {(0, 0)}
