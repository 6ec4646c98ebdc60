"""Error rates against a plain dynamic programme, and the figures of the cases."""

import itertools
from collections.abc import Sequence
from importlib.metadata import version

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transduce.metrics.edit import CharacterErrorRate, WordErrorRate

LINE = st.text(alphabet="ab é\u0301న\U0001f600", max_size=15)
CORPUS = st.lists(st.tuples(LINE, LINE), min_size=1, max_size=5)


def plain_distance(a: Sequence[str], b: Sequence[str]) -> int:
    """Levenshtein distance, one row of the table at a time."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above = row
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))
    return row[-1]


def plain_rate(pairs: list[tuple[list[str], list[str]]]) -> float:
    edits = sum(plain_distance(hypothesis, reference) for hypothesis, reference in pairs)
    return 100 * edits / max(1, sum(len(reference) for _, reference in pairs))


def words(text: str) -> list[str]:
    return [word for word in text.split(" ") if word != ""]


def cer(*pairs: tuple[str, str]) -> float:
    """Of (reference, hypothesis) pairs, the order of the cases."""
    return CharacterErrorRate()([h for _, h in pairs], [r for r, _ in pairs]).value


def wer(*pairs: tuple[str, str]) -> float:
    return WordErrorRate()([h for _, h in pairs], [r for r, _ in pairs]).value


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(CORPUS)
def test_equal_the_plain_dynamic_programme(pairs: list[tuple[str, str]]) -> None:
    assert cer(*pairs) == pytest.approx(plain_rate([(list(h), list(r)) for r, h in pairs]))
    assert wer(*pairs) == pytest.approx(plain_rate([(words(h), words(r)) for r, h in pairs]))


@pytest.mark.parametrize(
    ("reference", "hypothesis", "distance"),
    [("kitten", "sitting", 3), ("abc", "", 3), ("ab", "ba", 2), ("flaw", "lawn", 2), ("é", "e\u0301", 2)],
)
def test_known_distances(reference: str, hypothesis: str, distance: int) -> None:
    assert plain_distance(hypothesis, reference) == distance
    assert cer((reference, hypothesis)) == 100 * distance / len(reference)
    assert wer((" ".join(reference), " ".join(hypothesis))) == 100 * distance / len(reference)


def test_edits_are_summed_over_the_corpus_before_dividing() -> None:
    assert wer(("a", "b"), ("a b c d e f g h i", "a b c d e f g h i")) == 10.0  # the mean would be 50
    assert cer(("a", "b"), ("abcdefghi", "abcdefghi")) == 10.0


def test_only_the_plain_space_separates_words_and_runs_count_once() -> None:
    assert wer(("a b", "  a   b ")) == 0.0
    assert wer(("a\u00a0b", "a b")) == 200.0
    assert wer(("a\u3000b\tc", "a\u3000b\tc")) == 0.0
    assert cer(("a b", "a  b")) == pytest.approx(100 / 3)


def test_MET_03_empty_output_is_all_wrong() -> None:
    references = ["the cat sat on the mat .", "a dog ran in the park"]
    assert wer(*((reference, "") for reference in references)) == 100.0
    assert cer(*((reference, "") for reference in references)) == 100.0


@pytest.mark.parametrize(
    ("reference", "hypothesis", "rate"),
    [
        ("", "", 0.0),
        ("", "a b", 200.0),
        ("a b", "", 100.0),
        ("hello", "hello how are you", 300.0),
        ("", "a", 100.0),
        (" ", "a b c", 300.0),
        ("  ", " ", 0.0),
        ("a", "b c d e f", 500.0),
    ],
)
def test_MET_04_empty_references_and_long_output(reference: str, hypothesis: str, rate: float) -> None:
    assert wer((reference, hypothesis)) == rate


@pytest.mark.parametrize(
    ("reference", "hypothesis", "rate"),
    [("", "", 0.0), ("", "a b", 300.0), ("a b", "", 100.0), ("ab", "abcdef", 200.0), ("", "న", 100.0)],
)
def test_MET_04_characters_too(reference: str, hypothesis: str, rate: float) -> None:
    assert cer((reference, hypothesis)) == rate


def test_MET_04_insertions_at_an_empty_reference_count_in_the_total() -> None:
    assert wer(("", "a b"), ("a b c d", "a b c d")) == 50.0
    assert wer(("", "a b"), ("", "c"), ("", "")) == 300.0
    assert cer(("", "ab"), ("abcd", "abcx")) == 75.0


def test_the_closest_answer_counts() -> None:
    for answers in itertools.permutations(["abxd", "ab", "xyzw"]):
        assert CharacterErrorRate()(["abcd"], [answers]).value == 25.0
        spaced = [" ".join(answer) for answer in answers]
        assert WordErrorRate()(["a b c d"], [spaced]).value == 25.0


def test_fewest_edits_not_the_lowest_rate() -> None:
    answers = ["a b c d e f g h", "x"]  # 3 edits of 8, or 5 of 1
    assert WordErrorRate()(["a b c d e"], [answers]).value == pytest.approx(100 * 3 / 8)
    assert WordErrorRate()(["y"], [["x", "y a b c"]]).value == 100.0  # 1 of 1 where 3 of 4 would be less


def test_of_answers_as_close_the_longest_counts() -> None:
    for answers in (["a b c", "a"], ["a", "a b c"]):
        assert WordErrorRate()(["a b", "x"], [answers, "x"]).value == 25.0
        assert CharacterErrorRate()(["ab", "x"], [[a.replace(" ", "") for a in answers], "x"]).value == 25.0


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(LINE, st.lists(LINE, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_several_answers_equal_the_closest_alone(lines: list[tuple[str, list[str]]]) -> None:
    hypotheses, references = map(list, zip(*lines, strict=True))
    for metric, split in ((CharacterErrorRate(), list), (WordErrorRate(), words)):
        nearest = [
            min(answers, key=lambda r: (plain_distance(split(h), split(r)), -len(split(r))))
            for h, answers in lines
        ]
        assert metric(hypotheses, references).value == metric(hypotheses, nearest).value


def test_the_signatures() -> None:
    library = f"rapidfuzz:{version('rapidfuzz')}"
    assert (
        CharacterErrorRate()(["a"], ["a"]).signature == f"cer|nrefs:1|unit:code_point|level:corpus|{library}"
    )
    assert (
        WordErrorRate()(["a"], ["a"]).signature == f"wer|nrefs:1|unit:word|split:space|level:corpus|{library}"
    )
