"""The laws every metric keeps, run over the registry."""

import itertools
import random

import numpy as np
import pytest

from transduce.config import Spec, dump_options
from transduce.errors import DataError
from transduce.metrics import Metric
from transduce.metrics.references import accepted

CORPORA = [
    ["the cat sat on the mat .", "a dog ran in the park", "good morning to you all"],
    ["నేను చాలా అదృష్టవంతుడిని ఈ రోజు", "ما هذا الشيء الجديد هنا؟", "HH AH0 L OW1 W ER1 L D"],
    ["one two three four five"],
    ["12 March 2021 was a day", "", "x"],
]
HYPOTHESES = ["the cat sat on a mat .", "a dog ran in the park", "good day to you"]
SEVERAL = [CORPORA[0][0], ["dogs run in parks", CORPORA[0][1]], [CORPORA[0][2], "good day", "hello to you"]]
CORRUPTIONS = ("drop", "replace", "swap", "repeat", "empty", "append", "cut")

pytestmark = pytest.mark.parametrize("name", list(Metric.family))


def make(name: str) -> Metric:
    return Spec(Metric, name).build()


def better(name: str, value: float, other: float) -> bool:
    return value > other if Metric.family[name].higher_is_better else value < other


def corrupt(line: str, kind: str, rng: random.Random) -> str:
    words = line.split(" ")
    place = rng.randrange(len(words))
    changed = {
        "drop": words[:place] + words[place + 1 :],
        "replace": [*words[:place], "ʘʘʘ", *words[place + 1 :]],
        "swap": [*words[place:], *words[:place]],
        "repeat": [*words[:place], words[place], *words[place:]],
        "empty": [],
        "append": [*words, "ʘʘʘ"],
        "cut": words[:place],
    }
    return " ".join(changed[kind])


@pytest.mark.parametrize("lines", CORPORA)
def test_identical_texts_score_best(name: str, lines: list[str]) -> None:
    best = 1.0 if name in ("exact_match", "token_accuracy") else 100.0
    score = make(name)(lines, lines)
    assert score.value == (best if Metric.family[name].higher_is_better else 0.0)
    assert score.name == name
    assert score.note is None


@pytest.mark.parametrize("kind", CORRUPTIONS)
@pytest.mark.parametrize("lines", CORPORA)
def test_a_corrupted_output_is_never_better(name: str, lines: list[str], kind: str) -> None:
    rng = random.Random(f"{name} {kind}")
    best = make(name)(lines, lines).value
    for _ in range(10):
        hypotheses = [corrupt(line, kind, rng) if rng.random() < 0.6 else line for line in lines]
        assert not better(name, make(name)(hypotheses, lines).value, best)


@pytest.mark.parametrize("lines", CORPORA)
def test_each_further_wrong_word_never_helps(name: str, lines: list[str]) -> None:
    references = [" ".join("w" * (3 + n % 3) + str(n) for n in range(8)), *lines]
    hypotheses, metric = list(references), make(name)
    values = [metric(hypotheses, references).value]
    for place in random.Random(1).sample(range(8), 8):
        words = hypotheses[0].split(" ")
        words[place] = "ʘ" * len(words[place])
        hypotheses[0] = " ".join(words)
        values.append(metric(hypotheses, references).value)
    assert not any(better(name, after, before) for before, after in itertools.pairwise(values))
    assert better(name, values[0], values[-1])


@pytest.mark.parametrize("lines", CORPORA)
def test_scores_are_deterministic_and_hold_no_state(name: str, lines: list[str]) -> None:
    hypotheses = [line[1:] + "s" for line in lines]
    metric = make(name)
    first = metric(hypotheses, lines)
    metric(["something else"], ["entirely"])
    assert metric(hypotheses, lines) == first
    assert make(name)(tuple(hypotheses), tuple(lines)) == first


@pytest.mark.parametrize("references", [CORPORA[0], SEVERAL])
def test_the_order_of_lines_does_not_matter(name: str, references: list[str]) -> None:
    expected = make(name)(HYPOTHESES, references)
    for order in itertools.permutations(range(3)):
        shuffled = make(name)([HYPOTHESES[n] for n in order], [references[n] for n in order])
        assert shuffled == expected._replace(value=pytest.approx(expected.value, abs=1e-12))


def test_the_order_of_answers_does_not_matter(name: str) -> None:
    expected = make(name)(HYPOTHESES, SEVERAL)
    turned = [list(reversed(line)) if isinstance(line, list) else line for line in SEVERAL]
    assert make(name)(HYPOTHESES, turned) == expected._replace(value=pytest.approx(expected.value))


@pytest.mark.parametrize("lines", CORPORA)
def test_any_accepted_answer_scores_best(name: str, lines: list[str]) -> None:
    best = make(name)(lines, lines).value
    others = [" ".join(reversed(line.split(" "))) + " x" * bool(line) for line in lines]
    for references in zip(lines, others, strict=True), zip(others, lines, others, strict=True):
        assert make(name)(lines, list(references)).value == best


def test_one_answer_in_a_list_is_the_answer(name: str) -> None:
    for lines in CORPORA:
        hypotheses = [line[1:] + "s" for line in lines]
        assert make(name)(hypotheses, [[line] for line in lines]) == make(name)(hypotheses, lines)


def test_twice_the_same_answer_is_one_answer(name: str) -> None:
    once = make(name)(HYPOTHESES, CORPORA[0])
    assert make(name)(HYPOTHESES, [[line, line] for line in CORPORA[0]]).value == once.value


def test_the_signature_says_how_many_references(name: str) -> None:
    counts = {"1": CORPORA[0], "2": [[line, "a"] for line in CORPORA[0]], "var": SEVERAL}
    for count, references in counts.items():
        score = make(name)(HYPOTHESES, references)
        assert f"nrefs:{count}" in score.signature.split("|")
        assert make(name)(HYPOTHESES, CORPORA[0]).signature == score.signature.replace(
            f"nrefs:{count}", "nrefs:1"
        )


@pytest.mark.parametrize("references", [CORPORA[0], SEVERAL])
def test_statistics_sum_to_the_corpus(name: str, references: list[str]) -> None:
    metric, answers = make(name), accepted(HYPOTHESES, references)
    corpus = metric.statistics(HYPOTHESES, answers)
    alone = [metric.statistics([h], [line])[0] for h, line in zip(HYPOTHESES, answers, strict=True)]
    assert corpus.shape == (3, len(alone[0]))
    assert corpus.dtype == np.float64
    assert np.array_equal(corpus, np.stack(alone))
    value = metric(HYPOTHESES, references).value
    assert metric.aggregate(sum(alone)) == pytest.approx(value, abs=1e-12)
    assert metric.score(corpus[1:], answers[1:]) == metric(HYPOTHESES[1:], references[1:])


def test_doubling_the_corpus_changes_nothing(name: str) -> None:
    once = make(name)(HYPOTHESES, SEVERAL)
    assert make(name)(HYPOTHESES * 2, SEVERAL * 2).value == pytest.approx(once.value)


def test_aggregating_does_not_write_to_the_totals(name: str) -> None:
    metric = make(name)
    totals = metric.statistics(HYPOTHESES, accepted(HYPOTHESES, SEVERAL)).sum(0)
    before = totals.copy()
    metric.aggregate(totals)
    assert np.array_equal(totals, before)


def test_every_line_counts(name: str) -> None:
    lines = ["the cat sat on the mat", "a dog ran in the park", "good morning to you all"]
    for wrong in range(3):
        hypotheses = ["ʘ ʘ ʘ ʘ" if n == wrong else line for n, line in enumerate(lines)]
        assert better(name, make(name)(lines, lines).value, make(name)(hypotheses, lines).value)


@pytest.mark.parametrize(("hypotheses", "references"), [(2, 3), (3, 2), (1, 0), (0, 1), (0, 0)])
def test_lengths_are_checked(name: str, hypotheses: int, references: int) -> None:
    with pytest.raises(DataError, match=f"{hypotheses} hypotheses and {references} references"):
        make(name)(["a"] * hypotheses, ["a"] * references)


def test_the_signature_says_something_and_is_the_same_for_all_corpora(name: str) -> None:
    signatures = {make(name)(lines, lines).signature for lines in CORPORA}
    assert len(signatures) == 1
    assert all(":" in part or part == name for part in signatures.pop().split("|"))


@pytest.mark.parametrize(
    "hypothesis", ["", " ", "a", "\u00a0", "\u2028", "a\nb", "\u200d", "\U0001f600", "&quot;"]
)
@pytest.mark.parametrize("reference", ["", " ", "a", "నేను"])
def test_no_text_crashes_it(name: str, hypothesis: str, reference: str) -> None:
    value = make(name)([hypothesis], [reference]).value
    assert 0 <= value < float("inf")


def test_every_option_has_a_default(name: str) -> None:
    assert dump_options(Metric.family[name], {})["name"] == name
    assert isinstance(Metric.family[name].higher_is_better, bool)
