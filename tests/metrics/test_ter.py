"""TER against sacreBLEU, and by hand."""

import functools
import random
from importlib.metadata import version

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import lib_ter
from sacrebleu.metrics.ter import TER

from transduce.config import Spec
from transduce.metrics import Metric
from transduce.metrics.ter import Ter, _remembered_edits, count_edits

SIGNATURE = f"nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:{version('sacrebleu')}"
LINE = st.lists(st.sampled_from(["a", "b", "c", "D", "e.", "日本"]), max_size=12).map(" ".join)
LINES = st.lists(st.tuples(LINE, st.lists(LINE, min_size=1, max_size=3)), min_size=1, max_size=4)


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(LINES, st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_equals_sacrebleu(
    lines: list[tuple[str, list[str]]], norm: bool, no_punct: bool, asian: bool, cased: bool
) -> None:
    options = {
        "normalized": norm,
        "no_punct": no_punct,
        "asian_support": asian,
        "case_sensitive": cased,
    }
    hypotheses, references = map(list, zip(*lines, strict=True))
    streams = [[near[k] if k < len(near) else None for near in references] for k in range(3)]
    theirs = TER(**options)
    expected = theirs.corpus_score(hypotheses, streams).score
    ours = Spec(Metric, "ter", options).build()(hypotheses, references)
    assert ours.value == pytest.approx(expected, abs=1e-9)
    assert ours.signature == str(theirs.get_signature())


@pytest.mark.parametrize("length", [3, 10, 24, 26, 40])
@pytest.mark.parametrize("alphabet", [3, 12, 200])
def test_the_shortcut_finds_the_same_edits(length: int, alphabet: int) -> None:
    rng = random.Random(length * alphabet)
    for _ in range(2):
        hypothesis, reference = (
            [str(rng.randrange(alphabet)) for _ in range(size)]
            for size in (rng.randint(length // 2, length), length)
        )
        expected, _ = lib_ter.translation_edit_rate(hypothesis, reference)
        assert count_edits(hypothesis, reference) == expected


FAR = (
    "x0 x1 x2 x3 x5 x6 x7 x8 x12 x13 x14 x15 x16 x17 x18 x19 x20 x22 x23 x24 x25 w0 w1 w2 w3 w4 w5 w6 w7 w11 "
    "w12 w13 w14 w15 w16 w65 w18 w42 w20 w21 w23 w24 w25 w26 w27 w28 w29 w30 w31 w32 w8 w35 w36 w37 w38 w39 "
    "w40 w41 w32"
)


def test_the_shortcut_leaves_far_lines_to_the_band(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sacreBLEU's band misses the best alignment, plain distances lead to another count."""
    hypothesis, reference = FAR.split(), [f"w{n}" for n in range(69)]
    expected, _ = lib_ter.translation_edit_rate(hypothesis, reference)
    assert count_edits(hypothesis, reference) == expected == 56
    monkeypatch.setattr("transduce.metrics.ter._SURE", 1000)
    assert count_edits(hypothesis, reference) == 57


@pytest.mark.parametrize(
    ("hypothesis", "reference", "value"),
    [
        ("a b c d", "a b c d", 0),
        ("a b c x", "a b c d", 25),
        ("a b c", "a b c d", 25),
        ("a b c d e", "a b c d", 25),
        ("d a b c", "a b c d", 25),  # one shift, where Levenshtein needs two edits
        ("c d e f a b", "a b c d e f", 100 / 6),
        ("", "a b", 100),
        ("a b c", "x", 300),
        ("A B", "a b", 0),
        ("a  b ", "a b", 0),
        ("a\u00a0b", "a b", 0),
        ("", "", 0),
        ("a b", "", 100),
    ],
)
def test_by_hand(hypothesis: str, reference: str, value: float) -> None:
    score = Ter()([hypothesis], [reference])
    assert score.value == pytest.approx(value)
    assert score.signature == SIGNATURE


def test_the_closest_answer_over_the_mean_length() -> None:
    score = Ter()(["a b c d", "e"], [["a b c x", "y y y y y y"], "e f"])
    assert score.value == pytest.approx(100 * (1 + 1) / (5 + 2))
    assert "nrefs:var" in score.signature


def test_edits_are_summed_over_the_corpus_before_dividing() -> None:
    assert Ter()(["b", "a b c d e f g h i"], ["a", "a b c d e f g h i"]).value == 10.0


def test_options_show_in_the_signature() -> None:
    options = {"normalized": True, "no_punct": True, "asian_support": True, "case_sensitive": True}
    signature = Spec(Metric, "ter", options).build()(["a"], ["a"]).signature
    expected = "nrefs:1|case:mixed|tok:tercom|norm:yes|punct:no|asian:yes|version:"
    assert signature == expected + version("sacrebleu")
    assert Ter(case_sensitive=True)(["A"], ["a"]).value == 100.0
    assert Ter(no_punct=True)(["a, b."], ["a b"]).value == 0.0


def test_MET_03_and_MET_04_empty_output_and_references() -> None:
    references = ["the cat sat on the mat .", "a dog ran in the park"]
    assert Ter()(["", "a dog runs in the park"], references).value == pytest.approx(100 * 8 / 13)
    assert Ter()(["", ""], references).value == 100.0
    assert Ter()(["a b", "a b c d"], ["", "a b c d"]).value == 50.0  # insertions count in the total
    assert Ter()(["a b c"], [["", "a b c d"]]).value == 50.0  # 1 edit, 2 words in the mean


def test_a_line_is_searched_once_however_often_it_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, ...]] = []
    memory = functools.lru_cache(_remembered_edits.__wrapped__)  # of this test alone
    monkeypatch.setattr("transduce.metrics.ter._remembered_edits", memory)
    monkeypatch.setattr("transduce.metrics.ter.count_edits", lambda found, words: seen.append(found) or 1)
    lines, references = ["p q ʘ", "r s ʘ"], ["q ʘ", "s ʘ"]
    assert [Ter()(lines, references).value for _ in range(3)] == [50.0] * 3
    assert Ter(case_sensitive=True)(["P q ʘ"], ["q ʘ"]).value == 50.0
    assert [words[0] for words in seen] == ["p", "r", "P"]
