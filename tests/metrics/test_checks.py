"""What raises a warning beside the scores, and what must not."""

import pytest

from transduce.errors import DataError
from transduce.metrics import warnings_for

RAW = ["He said: \"It's done, isn't it?\"", "A plain line", "One. Two, three!", "At 10:30, for 3.50"]
TOKENISED = [
    "He said : \" It 's done , is n't it ? \"",
    "A plain line",
    "One . Two , three !",
    "At 10:30 , for 3.50",
]


def test_MET_09_tokenised_output_raises_a_warning_at_any_size() -> None:
    for size in (1, 2, 5, 150):
        (warning,) = warnings_for([TOKENISED[0]] * size, [RAW[0]] * size)
        assert warning.startswith(f"{size} of {size} hypotheses look tokenised")
        assert "\n" not in warning
    (warning,) = warnings_for(TOKENISED, RAW)
    assert warning.startswith("3 of 4 hypotheses look tokenised")


@pytest.mark.parametrize(
    ("hypothesis", "reference"),
    [
        ("It is done .", "It is done."),
        ("Well , no", "Well, no"),
        ("Who ?", "Who?"),
        ("What ? !", "What?!"),
        ("Stop ! Now", "Stop! Now"),
        ("one ; two", "one; two"),
        ("He said : no", "He said: no"),
        ('" Yes "', '"Yes"'),
        ("“ Yes ”", "“Yes”"),
        ("the dogs ' tails.", "the dogs' tails."),
        ("12 . 03 . 2021", "12.03.2021"),
        ("मैं हूँ ।", "मैं हूँ।"),
        ("ما هذا ؟", "ما هذا؟"),
        ("你 好 。", "你好。"),
    ],
)
def test_MET_09_each_mark_counts(hypothesis: str, reference: str) -> None:
    (warning,) = warnings_for([hypothesis], [reference])
    assert "look tokenised" in warning
    assert warnings_for([reference], [reference]) == []


@pytest.mark.parametrize(
    ("hypotheses", "references"),
    [
        (RAW, RAW),
        (RAW, list(reversed(RAW))),
        (TOKENISED, TOKENISED),  # data that is written so on both sides
        (["Quoi ? Non !"], ["Quoi\u00a0? Oui\u202f!"]),  # French spaces its marks
        (["Quoi ? Non !"], ["Quoi ? Oui !"]),
        (["HH AH0 L OW1 .", "K AE1 T"], ["HH AH0 . L OW1", "K AE1 T"]),
        (["smile :-) and .5 of .NET, now"], ["smile :-) and .5 of .NET, then"]),
        (["wait ... what"], ["wait... what"]),
        (["rock 'n' roll", "the '90s", "l'eau"], ["rock 'n' roll", "the '90s", "l'eau"]),
        (["no marks at all", "నేను చాలా"], ["none here either", "నేను"]),
        (["One stray mark .", *["All is well."] * 9], ["One stray mark.", *["All is well."] * 9]),
        ([".", "?"], [".", "?"]),
    ],
)
def test_MET_09_no_false_alarm(hypotheses: list[str], references: list[str]) -> None:
    assert warnings_for(hypotheses, references) == []


def test_MET_09_few_spaced_references_do_not_hide_it() -> None:
    hypotheses = [f"line {n} ends ." for n in range(10)]
    references = ["line 0 ends .", *(f"line {n} ends." for n in range(1, 10))]
    assert len(warnings_for(hypotheses, references)) == 1


def test_MET_03_empty_output_raises_a_warning() -> None:
    (warning,) = warnings_for(["", " ", "c", ""], ["a", "b", "c", ""])
    assert warning == "2 of 4 hypotheses are empty though their references are not"


def test_warnings_check_lengths() -> None:
    with pytest.raises(DataError, match="1 hypotheses and 2 references"):
        warnings_for(["a"], ["a", "b"])


def test_MET_03_an_accepted_empty_answer_raises_none() -> None:
    assert warnings_for(["", "", "c"], [["", "a"], "b", ["c", "d"]]) == [
        "1 of 3 hypotheses are empty though their references are not"
    ]
    assert len(warnings_for([""], [["a", "b"]])) == 1


def test_MET_09_all_answers_are_looked_at() -> None:
    assert len(warnings_for(["It is done ."] * 2, [["It is done.", "Done."]] * 2)) > 0
    assert warnings_for(["It is done ."] * 3, [["It is done .", "It was done ."]] * 3) == []


def test_MET_01_a_square_of_references_raises_a_warning() -> None:
    (warning,) = warnings_for(["a", "b"], [["a", "b"], ["c", "d"]])
    assert warning.startswith("each of the 2 lines has 2 references")
    assert "by_line" in warning
    for references in (["a", "b"], [["a", "b"], "c"], [["a", "b", "c"], ["d", "e", "f"]]):
        assert warnings_for(["a", "b"], references) == []
    assert warnings_for(["a"], [["a"]]) == []
