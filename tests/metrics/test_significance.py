"""Bootstrap: against resampling the text itself, against sacreBLEU's own, and in the limits."""

import os
import random
from unittest import mock

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest, estimate_ci

from transduce.config import Spec
from transduce.errors import ConfigError, DataError
from transduce.metrics import Bootstrap, Metric, compare, confidence, measure

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "in", "mat", "park", "."]
LINES = 40


def spoil(line: str, share: float, rng: random.Random) -> str:
    return " ".join(w if rng.random() > share else rng.choice(WORDS) for w in line.split())


def make() -> tuple[list[str], list[str], list[str]]:
    rng = random.Random(5)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(1, 9))) for _ in range(LINES)]
    good, worse = ([spoil(line, share, rng) for line in references] for share in (0.2, 0.3))
    return references, good, worse


REFERENCES, GOOD, WORSE = make()
SEVERAL = [[line, *WORDS[:2]] if n % 4 == 0 else line for n, line in enumerate(REFERENCES)]


def values(metric: Metric, hypotheses: list[str], references: object, bootstrap: Bootstrap) -> np.ndarray:
    answers = [(line,) if isinstance(line, str) else tuple(line) for line in references]
    return bootstrap.values(metric, metric.statistics(hypotheses, answers))


@pytest.mark.parametrize("references", [REFERENCES, SEVERAL])
@pytest.mark.parametrize("name", list(Metric.family))
def test_equals_rescoring_the_drawn_text(name: str, references: list[str]) -> None:
    bootstrap = Bootstrap(resamples=20, seed=7)
    generator = np.random.default_rng(7)
    metric = Spec(Metric, name).build()
    naive = []
    for _ in range(20):
        places = generator.choice(LINES, size=LINES, replace=True)
        naive.append(metric([GOOD[n] for n in places], [references[n] for n in places]).value)
    assert values(metric, GOOD, references, bootstrap) == pytest.approx(naive)


@pytest.mark.parametrize(("name", "scorer"), [("bleu", BLEU()), ("chrf", CHRF()), ("ter", TER())])
def test_equals_the_bootstrap_of_sacrebleu(name: str, scorer: object) -> None:
    """Its figures from our resamples: the mean, the half-width, and its p by its own formula."""
    with mock.patch.dict(os.environ, {"SACREBLEU_SEED": "12345"}):
        systems = [("worse", WORSE), ("good", GOOD)]
        test = PairedTest(systems, {name: scorer}, [REFERENCES], test_type="bs", n_samples=300)
        (base, other) = next(found for key, found in test()[1].items() if key != "System")
    bootstrap, metric = Bootstrap(resamples=300), Spec(Metric, name).build()
    compared = compare([name], GOOD, WORSE, REFERENCES, bootstrap=bootstrap)[name]
    for interval, theirs in ((compared.first, other), (compared.second, base)):
        assert interval.score.value == pytest.approx(theirs.score)
        assert interval.mean == pytest.approx(theirs.mean, abs=1e-4)  # theirs are sums in float32
        assert (interval.high - interval.low) / 2 == pytest.approx(theirs.ci, abs=1e-4)
    apart = np.abs(values(metric, GOOD, REFERENCES, bootstrap) - values(metric, WORSE, REFERENCES, bootstrap))
    p = (np.sum(apart - apart.mean() > abs(compared.difference)) + 1) / 301
    assert p == pytest.approx(other.p_value, abs=1.5 / 301)


def test_bounds_are_those_of_sacrebleu() -> None:
    for size in (1, 10, 39, 40, 300, 1000):
        sample = np.random.default_rng(size).normal(size=size)
        low, high = Bootstrap(resamples=size).bounds(sample)
        assert (high - low) / 2 == pytest.approx(estimate_ci(sample)[1])
    assert Bootstrap(resamples=1000, level=0.9).bounds(np.arange(1000.0)) == (50.0, 949.0)
    assert Bootstrap(resamples=5).bounds(np.array([3.0, 1, 2, 5, 4])) == (1.0, 5.0)


def test_the_interval_of_a_share_is_the_one_statistics_knows() -> None:
    """Exact match is a mean of 0s and 1s: its standard error is √(p (1 − p) / n)."""
    hypotheses, references = ["a"] * 400, ["a"] * 300 + ["b"] * 100
    interval = confidence(["exact_match"], hypotheses, references)["exact_match"]
    error = (0.75 * 0.25 / 400) ** 0.5
    assert interval.score.value == 0.75
    assert interval.low == pytest.approx(0.75 - 1.96 * error, abs=0.006)
    assert interval.high == pytest.approx(0.75 + 1.96 * error, abs=0.006)
    assert interval.mean == pytest.approx(0.75, abs=0.003)


def test_the_comparison_of_shares_is_the_one_statistics_knows() -> None:
    """First alone is right on 30 of 400 lines, second alone on 14; both on 200: z = 16 / √44, about."""
    references = ["a"] * 400
    first = ["a"] * 230 + ["b"] * 170
    second = ["a"] * 200 + ["b"] * 30 + ["a"] * 14 + ["b"] * 156
    found = compare(["exact_match"], first, second, references, bootstrap=Bootstrap(4000))["exact_match"]
    assert found.difference == pytest.approx(16 / 400)
    deviation = (44 - 16**2 / 400) ** 0.5
    assert found.high - found.low == pytest.approx(2 * 1.96 * deviation / 400, rel=0.08)
    assert found.p_value == pytest.approx(0.0150, abs=0.008)  # two-sided, of z = 16 / 6.58 = 2.43
    assert found.won == pytest.approx(1 - 0.0150 / 2, abs=0.005)


@pytest.mark.parametrize("name", list(Metric.family))
def test_equal_systems_differ_by_chance_only(name: str) -> None:
    found = compare([name], GOOD, list(GOOD), REFERENCES)[name]
    assert (found.difference, found.low, found.high) == (0, 0, 0)
    assert (found.won, found.tied, found.p_value) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("name", list(Metric.family))
def test_the_better_system_wins_whichever_way_is_up(name: str) -> None:
    bootstrap = Bootstrap(resamples=200)
    found = compare([name], REFERENCES, WORSE, REFERENCES, bootstrap=bootstrap)[name]
    swapped = compare([name], WORSE, REFERENCES, REFERENCES, bootstrap=bootstrap)[name]
    assert (found.difference > 0) == Metric.family[name].higher_is_better
    assert (found.won, swapped.won) == (1.0, 0.0)
    assert found.p_value == swapped.p_value == pytest.approx(1 / 201)
    assert (swapped.low, swapped.high) == (-found.high, -found.low)
    assert (swapped.first, swapped.second) == (found.second, found.first)


def test_slightly_different_systems_are_not_called_different() -> None:
    almost = [*GOOD[:-1], "cat"]
    found = compare(["wer", "chrf"], GOOD, almost, REFERENCES)
    assert all(comparison.p_value > 0.05 for comparison in found.values())
    assert all(comparison.tied > 0.1 for comparison in found.values())


def test_equal_seeds_equal_figures_and_others_differ() -> None:
    first = compare(None, GOOD, WORSE, SEVERAL, list, Bootstrap(50, seed=3))
    assert compare(None, GOOD, WORSE, SEVERAL, list, Bootstrap(50, seed=3)) == first
    other = compare(None, GOOD, WORSE, SEVERAL, list, Bootstrap(50, seed=4))
    assert all(other[name].first.mean != first[name].first.mean for name in first)
    assert all(other[name].difference == first[name].difference for name in first)


def test_scores_are_those_of_measure_and_comparisons_those_of_confidence() -> None:
    scores = measure(None, GOOD, SEVERAL)
    intervals = confidence(None, GOOD, SEVERAL, bootstrap=Bootstrap(50))
    assert {name: interval.score for name, interval in intervals.items()} == scores
    assert all(interval.low <= interval.mean <= interval.high for interval in intervals.values())
    compared = compare(None, GOOD, WORSE, SEVERAL, bootstrap=Bootstrap(50))
    assert {name: comparison.first for name, comparison in compared.items()} == intervals


def test_the_label_says_how() -> None:
    interval = confidence(["bleu"], GOOD, REFERENCES, bootstrap=Bootstrap(50, 3, 0.9))["bleu"]
    assert interval.signature == f"{interval.score.signature}|bs:50|seed:3|ci:90%"


def test_text_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in Metric.family.values():
        monkeypatch.setattr(kind, "statistics", mock.Mock(wraps=kind().statistics))
    compare(None, GOOD, WORSE, REFERENCES, bootstrap=Bootstrap(10))
    assert [kind.statistics.call_count for kind in Metric.family.values()] == [2] * len(Metric.family)


@pytest.mark.parametrize(
    "options", [{"resamples": 0}, {"seed": -1}, {"level": 0.0}, {"level": 1.0}, {"level": float("nan")}]
)
def test_a_bootstrap_that_cannot_work_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="bootstrap: expected resamples of at least 1"):
        Bootstrap(**options)


def test_lines_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="40 hypotheses and 39 references"):
        confidence(None, GOOD, REFERENCES[1:])
    with pytest.raises(DataError, match="39 hypotheses and 40 references"):
        compare(None, GOOD, WORSE[1:], REFERENCES)
    with pytest.raises(ConfigError, match="did you mean 'bleu'"):
        compare(["blue"], GOOD, WORSE, REFERENCES)


def test_one_line_has_no_spread() -> None:
    for interval in confidence(None, ["a b c d e"], ["a b c x e"], bootstrap=Bootstrap(3)).values():
        assert interval.low == interval.high == interval.score.value
