"""Exact match and token accuracy by plain arithmetic."""

import itertools

import pytest

from transduce.metrics.accuracy import ExactMatch, TokenAccuracy


@pytest.mark.parametrize(
    ("hypotheses", "references", "value"),
    [
        (["a", "b", "c", "d"], ["a", "b", "x", "y"], 0.5),
        (["good morning"], ["good morning"], 1.0),
        (["Good"], ["good"], 0.0),
        (["a "], ["a"], 0.0),
        (["\u00e9"], ["e\u0301"], 0.0),
        (["", "a"], ["", "b"], 0.5),
        (["a", "b", "c"], ["a", "x", "y"], 1 / 3),
    ],
)
def test_exact_match_is_the_fraction_of_equal_lines(
    hypotheses: list[str], references: list[str], value: float
) -> None:
    score = ExactMatch()(hypotheses, references)
    assert score == (
        value,
        "exact_match",
        "exact_match|nrefs:1|level:corpus|unit:line|case:mixed|norm:none",
        None,
    )


@pytest.mark.parametrize(
    ("hypothesis", "reference", "value"),
    [
        ("a b c d", "a b c d", 1.0),
        ("a b x d", "a b c d", 0.75),
        ("a b", "a b c d", 0.5),  # what is missing is wrong
        ("a b c d e f", "a b c d", 1.0),  # beyond the reference there is no position to compare
        ("x a b c", "a b c d", 0.0),  # positions, not alignment
        ("", "a b", 0.0),
        ("", "", 1.0),
        ("a", "", 0.0),
        ("  a   b ", "a b", 1.0),
        ("a\u00a0b", "a b", 0.0),
    ],
)
def test_token_accuracy_compares_positions(hypothesis: str, reference: str, value: float) -> None:
    assert TokenAccuracy()([hypothesis], [reference]).value == value


def test_token_accuracy_sums_before_dividing() -> None:
    score = TokenAccuracy()(["a", "x b c d e f g h i"], ["a", "a b c d e f g h x"])
    assert score.value == 8 / 10  # the mean of the lines' own accuracies would be 0.889
    assert TokenAccuracy()(["", "a b c", "b"], ["a", "a b c", ""]).value == 3 / 4


def test_token_accuracy_uses_the_target_splitting() -> None:
    assert TokenAccuracy(list)(["abd"], ["abc"]).value == 2 / 3
    assert TokenAccuracy()(["abd"], ["abc"]).value == 0
    assert TokenAccuracy(list)(["a b"], ["a"]).value == 1


def test_token_accuracy_says_how_it_splits() -> None:
    scores = [metric(["a"], ["a"]).signature for metric in (TokenAccuracy(), TokenAccuracy(list))]
    assert scores == [
        f"token_accuracy|nrefs:1|level:corpus|eos:no|forced:no|tok:{tok}" for tok in ("space", "target")
    ]


@pytest.mark.parametrize(
    ("hypothesis", "answers", "value"),
    [
        ("a b c", ["x y", "a b x"], 2 / 3),
        ("a b", ["a", "a b"], 1.0),
        ("a b", ["a b", "x b"], 1.0),
        ("", ["a", ""], 1.0),
        ("c", ["", "a b"], 0.0),
        ("a x", ["x b", "b a", "a b c"], 1 / 3),
    ],
)
def test_token_accuracy_takes_the_best_answer(hypothesis: str, answers: list[str], value: float) -> None:
    for order in itertools.permutations(answers):
        assert TokenAccuracy()([hypothesis], [order]).value == value


def test_of_answers_as_good_the_longest_counts() -> None:
    others = (["a b c d"], ["x x x x"])
    assert TokenAccuracy()(["a b", *others[1]], [["a", "a b"], *others[0]]).value == 2 / 6
    assert TokenAccuracy()(["c", *others[0]], [["", "a b"], *others[0]]).value == 4 / 6


def test_exact_match_takes_any_answer() -> None:
    references = [["a", "b"], "c", ["d", "e", "f"], ["", "g"]]
    score = ExactMatch()(["b", "c", "x", ""], references)
    assert score.value == 3 / 4
    assert score.signature == "exact_match|nrefs:var|level:corpus|unit:line|case:mixed|norm:none"


def test_MET_07_and_MET_03_exact_match() -> None:
    assert ExactMatch()(["good morning"], ["good morning"]).value == 1.0
    assert ExactMatch()(["", "a dog runs"], ["the cat", "a dog ran"]).value == 0.0
