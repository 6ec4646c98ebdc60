"""The contract's frame: the score, the splitting, and the one function that measures."""

import logging
import subprocess
import sys

import pytest

from transduce.config import Spec
from transduce.errors import ConfigError, DataError
from transduce.metrics import Metric, Score, measure, split_words
from transduce.metrics.bleu import Bleu

NAMES = ["exact_match", "token_accuracy", "bleu", "chrf", "cer", "wer", "ter"]


def run_plain(code: str) -> str:
    """Runs `code` without the type checks of the test suite, as users do."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_stable_names_are_known_and_in_the_order_of_reports() -> None:
    assert [name for name in Metric.family if name in NAMES] == NAMES


def test_a_metric_without_scoring_cannot_be_made() -> None:
    class Half(Metric):
        higher_is_better = True

    with pytest.raises(TypeError, match="abstract"):
        Half()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("   ", []),
        (" a  b ", ["a", "b"]),
        ("a\u00a0b\tc\u3000d\u2028e f", ["a\u00a0b\tc\u3000d\u2028e", "f"]),
    ],
)
def test_only_the_plain_space_splits_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_measure_gives_all_metrics_or_those_asked_for() -> None:
    lines = ["the cat sat on the mat"]
    everything = measure(None, lines, lines, split_words)
    assert list(everything) == list(Metric.family)
    chosen = measure(["wer", "bleu"], lines, lines)
    assert list(chosen) == ["wer", "bleu"]
    assert chosen == {name: everything[name] for name in chosen}
    assert all(isinstance(score, Score) and score.name == name for name, score in everything.items())
    assert measure([], lines, lines) == {}


def test_measure_passes_the_target_splitting_on() -> None:
    scores = measure(["token_accuracy"], ["abcd"], ["abxd"], list)
    assert scores["token_accuracy"].value == 0.75


def test_measure_takes_options_with_a_spec() -> None:
    (score,) = measure([Spec(Metric, "bleu", {"lowercase": True})], ["A B C D"], ["a b c d"]).values()
    assert score.value == 100
    assert "case:lc" in score.signature


def test_measure_names_the_nearest_metric() -> None:
    with pytest.raises(ConfigError, match="unknown metric 'blue'; did you mean 'bleu'"):
        measure(["blue"], ["a"], ["a"])


@pytest.mark.parametrize("names", [None, [], ["bleu"]])
def test_measure_checks_lengths(names: list[str] | None) -> None:
    with pytest.raises(DataError, match="2 hypotheses and 1 references"):
        measure(names, ["a", "b"], ["a"])
    with pytest.raises(DataError, match="at least one line"):
        measure(names, [], [])


def test_MET_01_references_nested_by_stream_are_refused_by_the_whole_way() -> None:
    code = """
from transduce.errors import DataError
from transduce.metrics import Metric, measure
lines = ["a b c d", "w x y z", "q q q q"]
for references in ([lines], [lines, lines], [tuple(lines)], "abc", [["a"], [], lines], [[["a"]]] * 3):
    for score in (lambda h, r: measure(None, h, r), *(kind() for kind in Metric.family.values())):
        try:
            score(lines, references)
        except DataError:
            continue
        raise SystemExit(f"{score} took {references}")
"""
    assert run_plain(code) == ""


def test_MET_01_references_nested_by_line_score_every_line() -> None:
    hypotheses = ["a b c d", "w x y z", "q q q q"]
    flat = ["a b c d", "e f g h", "i j k l"]
    for references in (
        [[line] for line in flat],
        [(line,) for line in flat],
        ["a b c d", ["e f g h"], flat[2]],
    ):
        assert measure(None, hypotheses, references) == measure(None, hypotheses, flat)
    assert measure(["exact_match"], hypotheses, flat)["exact_match"].value == 1 / 3


def test_measure_takes_several_answers() -> None:
    scores = measure(None, ["a b c d", "e f g h"], [["x", "a b c d"], "e f g h"])
    for name, score in scores.items():
        assert "nrefs:var" in score.signature
        assert score.value == {"exact_match": 1.0, "token_accuracy": 1.0, "bleu": 100.0, "chrf": 100.0}.get(
            name, 0
        )


def test_MET_03_empty_output_is_scored_with_the_rest() -> None:
    references = ["the cat sat on the mat .", "a dog ran in the park"]
    scores = measure(None, ["", "a dog runs in the park"], references)
    assert round(scores["bleu"].value, 2) == 11.83
    assert round(scores["chrf"].value, 2) == 33.94
    assert scores["exact_match"].value == 0
    assert scores["token_accuracy"].value == 5 / 13
    assert scores["wer"].value == pytest.approx(100 * 8 / 13)
    assert scores["cer"].value == pytest.approx(100 * (24 + 2) / (24 + 21))


@pytest.mark.parametrize("empty", ["", " ", "   "])
@pytest.mark.parametrize("size", [1, 2, 40])
def test_MET_03_nothing_but_empty_output(empty: str, size: int) -> None:
    references = ["the cat sat on the mat .", "a dog ran in the park"] * size
    scores = measure(None, [empty] * 2 * size, references)
    for name in ("bleu", "chrf", "exact_match", "token_accuracy"):
        assert scores[name].value == 0
    assert scores["wer"].value == 100
    assert empty or scores["cer"].value == 100


@pytest.mark.parametrize("emptied", [[0], [3], [1, 2], [0, 1, 2, 3]])
def test_MET_03_emptied_lines_cost_as_dropped_ones_would_not(emptied: list[int]) -> None:
    references = ["one two three four", "five six seven eight", "nine ten red green", "blue white pink grey"]
    hypotheses = ["" if n in emptied else line for n, line in enumerate(references)]
    for name, score in measure(None, hypotheses, references).items():
        best = measure([name], references, references)[name].value
        assert score.value < best if Metric.family[name].higher_is_better else score.value > best


def test_MET_09_nothing_is_printed_or_logged(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        measure(None, ["It is done ."] * 150, ["It is done."] * 150)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_importing_the_room_does_not_import_torch() -> None:
    code = (
        "import sys, transduce.metrics; print('torch' in sys.modules, len(transduce.metrics.Metric.family))"
    )
    assert run_plain(code) == f"False {len(NAMES)}"


def test_options_come_from_a_spec() -> None:
    metric = Spec(Metric, "bleu", {"tokenize": "char"}).build(list)
    assert isinstance(metric, Bleu)
    assert metric.tokenize is list
    assert "tok:char" in metric(["abcd"], ["abcd"]).signature
