"""BLEU against a plain second implementation, and the figures of the cases."""

import math
from collections import Counter
from importlib.metadata import version

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from transduce.config import Spec
from transduce.errors import ConfigError
from transduce.metrics import Metric, sentence_scores
from transduce.metrics.bleu import Bleu

SIGNATURE = f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{version('sacrebleu')}"
WORD = st.sampled_from(["a", "b", "c", "d"])
LINE = st.lists(WORD, max_size=12).map(" ".join)
CORPUS = st.lists(st.tuples(LINE, LINE), min_size=1, max_size=6)


def ngrams(line: str, n: int) -> Counter[tuple[str, ...]]:
    words = line.split()
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def counts(pairs: list[tuple[str, str]], n: int) -> tuple[int, int]:
    """Clipped matches and hypothesis n-grams, each summed over the corpus."""
    matches = sum((ngrams(h, n) & ngrams(r, n)).total() for h, r in pairs)
    return matches, sum(ngrams(h, n).total() for h, _ in pairs)


def brevity(pairs: list[tuple[str, str]]) -> float:
    c, r = (sum(len(line.split()) for line in side) for side in zip(*pairs, strict=True))
    if c > r:
        return 1.0
    return math.exp(1 - r / c) if c else 0.0


def plain_bleu(pairs: list[tuple[str, str]], order: int = 4, *, exp: bool = False) -> float:
    """BLEU by the definition; `exp` gives the k-th order without a match 1 / (2^k · n-grams)."""
    product, halvings = 1.0, 0
    for n in range(1, order + 1):
        matches, total = counts(pairs, n)
        if not total or (n == 1 and not matches):
            return 0.0
        halvings += not matches
        product *= matches / total if matches or not exp else 1 / (2**halvings * total)
    return 100 * brevity(pairs) * product ** (1 / order)


def score(metric: Bleu, pairs: list[tuple[str, str]]) -> float:
    hypotheses, references = map(list, zip(*pairs, strict=True))
    return metric(hypotheses, references).value


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(CORPUS, st.integers(1, 4))
def test_equals_the_plain_definition(pairs: list[tuple[str, str]], order: int) -> None:
    unsmoothed = Bleu(smooth_method="none", max_ngram_order=order)
    assert score(unsmoothed, pairs) == pytest.approx(plain_bleu(pairs, order), abs=1e-9)
    smoothed = Bleu(max_ngram_order=order)
    assert score(smoothed, pairs) == pytest.approx(plain_bleu(pairs, order, exp=True), abs=1e-9)


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(CORPUS, st.sampled_from(["13a", "intl", "char", "zh", "none"]), st.booleans())
def test_equals_sacrebleu(pairs: list[tuple[str, str]], tokenize: str, lowercase: bool) -> None:
    marked = [(f"{h}, «x».", f"{r.upper()}, «x»!") for h, r in pairs]
    hypotheses, references = map(list, zip(*marked, strict=True))
    theirs = BLEU(tokenize=tokenize, lowercase=lowercase)
    expected = theirs.corpus_score(hypotheses, [references]).score
    ours = Spec(Metric, "bleu", {"tokenize": tokenize, "lowercase": lowercase}).build()(
        hypotheses, references
    )
    assert ours.value == pytest.approx(expected, abs=1e-9)
    assert ours.signature == str(theirs.get_signature())


def test_counts_are_clipped() -> None:
    pairs = [("the the cat", "the cat")]
    assert counts(pairs, 1) == (2, 3)
    assert counts(pairs, 2) == (1, 2)
    assert score(Bleu(max_ngram_order=1), pairs) == pytest.approx(100 * 2 / 3)
    assert score(Bleu(max_ngram_order=2), pairs) == pytest.approx(100 * math.sqrt(2 / 3 * 1 / 2))


@pytest.mark.parametrize(("c", "r"), [(4, 4), (5, 4), (12, 4), (4, 5), (5, 8), (4, 40)])
def test_short_output_is_penalised_and_long_output_is_not(c: int, r: int) -> None:
    words = [f"w{n}" for n in range(40)]
    hypothesis, reference = " ".join(words[:c]), " ".join(words[:r])
    matches = [min(c, r) - n for n in range(4)]
    precision = math.prod(m / (c - n) for n, m in enumerate(matches)) ** (1 / 4)
    penalty = 1 if c > r else math.exp(1 - r / c)
    assert score(Bleu(), [(hypothesis, reference)]) == pytest.approx(100 * penalty * precision)


def test_the_penalty_is_taken_over_the_whole_corpus() -> None:
    pairs = [("a b c d e f", "a b c d"), ("g h i j", "g h i j k l")]
    assert brevity(pairs) == 1
    assert score(Bleu(), pairs) == pytest.approx(plain_bleu(pairs))


def test_counts_are_summed_over_the_corpus_before_dividing() -> None:
    pairs = [("a b c d e", "a b c d e"), ("v w x y z v w", "v w x q z v w")]
    mean = (score(Bleu(), pairs[:1]) + score(Bleu(), pairs[1:])) / 2
    assert score(Bleu(), pairs) == pytest.approx(plain_bleu(pairs, exp=True))
    assert abs(score(Bleu(), pairs) - mean) > 1


def test_MET_01_every_line_counts() -> None:
    result = Bleu()(["a b c d", "w x y z", "q q q q"], ["a b c d", "e f g h", "i j k l"])
    assert round(result.value, 2) == 33.33
    assert result.signature == SIGNATURE


@pytest.mark.parametrize("lines", [1, 2, 3, 7])
def test_MET_01_a_right_first_line_is_not_everything(lines: int) -> None:
    references = [f"a{n} b{n} c{n} d{n}" for n in range(lines)]
    hypotheses = [references[0], *["q q q q"] * (lines - 1)]
    assert Bleu()(hypotheses, references).value == pytest.approx(100 / lines)


def test_MET_03_empty_output_is_not_dropped() -> None:
    references = ["the cat sat on the mat .", "a dog ran in the park"]
    assert round(Bleu()(["", "a dog runs in the park"], references).value, 2) == 11.83
    assert Bleu()(["", ""], references).value == 0.0


@pytest.mark.parametrize("lines", [["good morning"], ["yes"], ["yes", "no", "good morning dear"], ["a", ""]])
def test_MET_07_perfect_but_short(lines: list[str]) -> None:
    result = Bleu()(lines, lines)
    assert result.value == 0.0
    assert result.note == "corpus too short for 4-gram BLEU: no reference has 4 tokens"
    assert Bleu(effective_order=True)(lines, lines)[::3] == (100.0, None)
    assert sentence_scores("bleu", lines[:1], lines[:1])[0].value == 100.0


def test_MET_07_the_note_says_which_side_is_short() -> None:
    note = "corpus too short for 4-gram BLEU: no hypothesis has 4 tokens"
    assert Bleu()(["a b c", ""], ["a b c d", "e f g h"]).note == note
    assert Bleu()(["a b c", "e f g h"], ["a b c d", "e f g h"]).note is None
    assert Bleu(max_ngram_order=2)(["good morning"], ["good morning"])[::3] == (100.0, None)
    assert Bleu(max_ngram_order=1)([""], ["a"]).note == (
        "corpus too short for 1-gram BLEU: no hypothesis has 1 token"
    )
    assert Bleu(tokenize="char")(["good"], ["good"])[::3] == (100.0, None)


def test_MET_09_tokenised_output_loses() -> None:
    reference = "He said: \"It's done, isn't it?\""
    right = Bleu()([reference], [reference])
    assert round(right.value, 2) == 100.0
    assert right.signature == SIGNATURE
    wrong = Bleu()(["He said : \" It 's done , is n't it ? \""], [reference])
    assert round(wrong.value, 2) == 31.17


@pytest.mark.parametrize("text", ["this is a test", "a b c d", "నేను చాలా అదృష్టవంతుడిని నేను", "a a a a a"])
def test_MET_13_identical_text_is_perfect(text: str) -> None:
    assert Bleu()([text], [text]).value == 100.0
    assert Bleu()([text] * 3, [text] * 3).value == 100.0


@pytest.mark.parametrize("hypothesis", ["a", "this is a test", "", " "])
@pytest.mark.parametrize("smooth", ["exp", "floor", "add-k", "none"])
@pytest.mark.parametrize("effective", [False, True])
def test_MET_13_empty_references_do_not_crash(hypothesis: str, smooth: str, effective: bool) -> None:
    metric = Spec(Metric, "bleu", {"smooth_method": smooth, "effective_order": effective}).build()
    for references in ([""], [" "], ["", ""]):
        assert metric([hypothesis] * len(references), references).value == 0.0
    assert sentence_scores("bleu", [hypothesis], [""])[0].value == 0.0


def test_MET_13_one_empty_reference_among_others() -> None:
    pairs = [("a", ""), ("a b c d", "a b c d")]
    assert score(Bleu(), pairs) == pytest.approx(plain_bleu(pairs))


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(LINE, st.lists(LINE, min_size=1, max_size=3)), min_size=1, max_size=5))
def test_several_references_equal_the_plain_definition(lines: list[tuple[str, list[str]]]) -> None:
    """Counts are clipped by the highest of any reference; r is the closest length, the shorter of two."""
    hypotheses, references = map(list, zip(*lines, strict=True))
    c = sum(len(h.split()) for h in hypotheses)
    r = sum(min((abs(len(x.split()) - len(h.split())), len(x.split())) for x in near)[1] for h, near in lines)
    matches, totals = zip(*(union_counts(lines, n) for n in (1, 2)), strict=True)
    expected = 0.0
    if all(matches):
        precision = math.sqrt(math.prod(matches) / math.prod(totals))
        expected = 100 * (1 if c > r else math.exp(1 - r / c)) * precision
    ours = Bleu(smooth_method="none", max_ngram_order=2)(hypotheses, references)
    assert ours.value == pytest.approx(expected, abs=1e-9)
    theirs = BLEU(smooth_method="none", max_ngram_order=2)
    streams = [[near[k] if k < len(near) else None for near in references] for k in range(3)]
    assert ours.value == pytest.approx(theirs.corpus_score(hypotheses, streams).score, abs=1e-9)
    assert ours.signature.replace("|order:2", "") == str(theirs.get_signature())


def union_counts(lines: list[tuple[str, list[str]]], n: int) -> tuple[int, int]:
    matches = total = 0
    for hypothesis, references in lines:
        most: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            most |= ngrams(reference, n)
        matches += (ngrams(hypothesis, n) & most).total()
        total += ngrams(hypothesis, n).total()
    return matches, total


@pytest.mark.parametrize(
    ("references", "length"), [(["a b c d e f", "a b"], 2), (["a b", "a b c d e f"], 2), (["a b c", "a"], 3)]
)
def test_of_two_lengths_as_close_the_shorter_counts(references: list[str], length: int) -> None:
    statistics = Bleu().statistics(["a b c d"], [references])
    assert statistics[0, :2].tolist() == [4, length]


def test_MET_07_any_long_reference_is_long_enough() -> None:
    assert "no reference" in str(Bleu()(["a b c d"], [["a", "a b c"]]).note)
    assert Bleu()(["a b c d"], [["a", "a b c d e f g h"]]).note is None


def test_the_signature_names_every_option() -> None:
    options = {"tokenize": "intl", "lowercase": True, "smooth_method": "floor", "smooth_value": 0.2}
    metric = Spec(Metric, "bleu", {**options, "effective_order": True, "max_ngram_order": 2}).build()
    signature = metric(["a b"], ["a b"]).signature
    expected = "nrefs:1|case:lc|eff:yes|tok:intl|smooth:floor[0.20]|order:2|version:"
    assert signature == expected + version("sacrebleu")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_ngram_order": 0}, "bleu.max_ngram_order: expected at least 1; got 0"),
        ({"smooth_value": 1.0}, "bleu.smooth_value: expected with smooth_method floor or add-k; got 'exp'"),
        ({"smooth_method": "add-k", "smooth_value": 0.0}, "expected above 0 and finite; got 0.0"),
        ({"smooth_method": "floor", "smooth_value": math.nan}, "expected above 0 and finite; got nan"),
        ({"smooth_method": "floor", "smooth_value": math.inf}, "expected above 0 and finite; got inf"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace(".", r"\.")):
        Spec(Metric, "bleu", options).build()


@pytest.mark.parametrize(("tokenize", "extra"), [("ja-mecab", "ja"), ("ko-mecab", "ko")])
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tokenize: str, extra: str) -> None:
    monkeypatch.setattr(f"sacrebleu.tokenizers.tokenizer_{extra}_mecab.MeCab", None, raising=False)
    with pytest.raises(ConfigError, match=rf"{tokenize}.*pip install 'sacrebleu\[{extra}\]'"):
        Spec(Metric, "bleu", {"tokenize": tokenize}).build()
