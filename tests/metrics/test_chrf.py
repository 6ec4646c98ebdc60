"""chrF2 against a plain second implementation, and the figures of the cases."""

from collections import Counter
from importlib.metadata import version

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from transduce.config import Spec
from transduce.errors import ConfigError
from transduce.metrics import Metric
from transduce.metrics.chrf import Chrf

VERSION = version("sacrebleu")
LINE = st.text(alphabet="ab c", max_size=12)
CORPUS = st.lists(st.tuples(LINE, LINE), min_size=1, max_size=5)


def grams(text: str, n: int) -> Counter[str]:
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


def plain_chrf(pairs: list[tuple[str, str]], *, whitespace: bool, order: int = 6) -> float:
    """F2 of precision and recall over the corpus, averaged over the orders both sides have."""
    if not whitespace:
        pairs = [(h.replace(" ", ""), r.replace(" ", "")) for h, r in pairs]
    precisions, recalls = [], []
    for n in range(1, order + 1):
        hits = sum((grams(h, n) & grams(r, n)).total() for h, r in pairs)
        found = sum(grams(h, n).total() for h, r in pairs if grams(r, n))  # sacreBLEU's rule
        wanted = sum(grams(r, n).total() for _, r in pairs)
        if found and wanted:
            precisions.append(hits / found)
            recalls.append(hits / wanted)
    if not sum(precisions):
        return 0.0
    p, r = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return 100 * 5 * p * r / (4 * p + r)


def score(metric: Chrf, pairs: list[tuple[str, str]]) -> float:
    hypotheses, references = map(list, zip(*pairs, strict=True))
    return metric(hypotheses, references).value


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(CORPUS, st.booleans(), st.integers(1, 6))
def test_equals_the_plain_definition(pairs: list[tuple[str, str]], whitespace: bool, order: int) -> None:
    ours = score(Chrf(whitespace=whitespace, char_order=order), pairs)
    assert ours == pytest.approx(plain_chrf(pairs, whitespace=whitespace, order=order), abs=1e-9)


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(CORPUS, st.integers(0, 2), st.booleans(), st.booleans())
def test_equals_sacrebleu(pairs: list[tuple[str, str]], word_order: int, lowercase: bool, eps: bool) -> None:
    options = {"word_order": word_order, "lowercase": lowercase, "eps_smoothing": eps}
    hypotheses, references = map(list, zip(*pairs, strict=True))
    theirs = CHRF(**options)
    expected = theirs.corpus_score(hypotheses, [references]).score
    ours = Spec(Metric, "chrf", options).build()(hypotheses, references)
    assert ours.value == pytest.approx(expected, abs=1e-9)
    assert ours.signature == str(theirs.get_signature())


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.tuples(LINE, st.lists(LINE, min_size=1, max_size=3)), min_size=1, max_size=4),
    st.integers(0, 2),
)
def test_several_references_equal_sacrebleu(lines: list[tuple[str, list[str]]], word_order: int) -> None:
    hypotheses, references = map(list, zip(*lines, strict=True))
    streams = [[near[k] if k < len(near) else None for near in references] for k in range(3)]
    theirs = CHRF(word_order=word_order)
    expected = theirs.corpus_score(hypotheses, streams).score
    ours = Chrf(word_order=word_order)(hypotheses, references)
    assert ours.value == pytest.approx(expected, abs=1e-9)
    assert ours.signature == str(theirs.get_signature())


def test_each_line_is_held_against_its_best_reference() -> None:
    hypotheses = ["the cat", "a dog"]
    several = Chrf()(hypotheses, [["some thing", "the cap"], ["a dog", "dogs"]])
    assert several.value == Chrf()(hypotheses, ["the cap", "a dog"]).value


def test_MET_03_empty_output_is_not_dropped() -> None:
    references = ["the cat sat on the mat .", "a dog ran in the park"]
    assert round(Chrf()(["", "a dog runs in the park"], references).value, 2) == 33.94
    assert Chrf()(["", ""], references).value == 0.0


def test_MET_07_short_output_can_be_perfect() -> None:
    for text in ("good morning", "a", "న", "no"):
        assert Chrf()([text], [text]).value == 100.0


def test_MET_12_spaces_count_only_when_asked_and_the_signature_says_so() -> None:
    ignored = Chrf()(["thecat"], ["the cat"])
    counted = Chrf(whitespace=True)(["thecat"], ["the cat"])
    assert (round(ignored.value, 2), round(counted.value, 2)) == (100.0, 33.15)
    assert ignored.signature == f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{VERSION}"
    assert counted.signature == f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:yes|version:{VERSION}"


@pytest.mark.parametrize(
    ("hypothesis", "reference"), [("a b c", "abc"), ("నేనుచాలా", "నేను చాలా"), ("th ecat", "the cat")]
)
def test_MET_12_space_errors_of_every_kind(hypothesis: str, reference: str) -> None:
    assert Chrf()([hypothesis], [reference]).value == 100.0
    assert Chrf(whitespace=True)([hypothesis], [reference]).value < 100.0
    assert Chrf(word_order=2)([hypothesis], [reference]).value < 100.0


def test_MET_12_the_signature_names_every_option() -> None:
    options = {"char_order": 4, "word_order": 2, "whitespace": True, "lowercase": True, "eps_smoothing": True}
    signature = Spec(Metric, "chrf", options).build()(["a"], ["a"]).signature
    assert signature == f"nrefs:1|case:lc|eff:no|nc:4|nw:2|space:yes|version:{VERSION}"


@pytest.mark.parametrize("hypothesis", ["", " ", "a", "a b"])
@pytest.mark.parametrize("word_order", [0, 2])
def test_MET_13_empty_references_do_not_crash(hypothesis: str, word_order: int) -> None:
    assert Chrf(word_order=word_order)([hypothesis], [""]).value == 0.0
    assert Chrf(word_order=word_order, eps_smoothing=True)([hypothesis], [" "]).value < 1e-9


@pytest.mark.parametrize(("char_order", "word_order"), [(0, 0), (-1, 0), (6, -1)])
def test_impossible_orders_are_refused(char_order: int, word_order: int) -> None:
    with pytest.raises(ConfigError, match=f"got {char_order} and {word_order}"):
        Chrf(char_order=char_order, word_order=word_order)
