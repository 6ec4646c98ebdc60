"""Lengths, ratios and alignment, against plain loops, statistics and damage done on purpose."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.doctor.rows import ODD, found, only
from transduce.data.doctor.lengths import words
from transduce.data.doctor.ratios import LIMIT, deviations
from transduce.data.doctor.window import Side


@given(st.lists(st.text(st.sampled_from(ODD + "\u2003\u2028"), max_size=8), min_size=1))
def test_words_are_what_white_space_parts(texts):
    assert words(Side(texts)).tolist() == [len(text.split()) for text in texts]


def test_quantiles_by_hand():
    """Lengths 1 … 100: the 5th percentile of a hundred values is the fifth of them."""
    pairs = [("x" * n, "a b") for n in range(100, 0, -1)]
    table = {finding.text: finding.values for finding in found("lengths", pairs)}
    wanted = {"min": 1, "p5": 5, "median": 50, "p95": 95, "p99": 99, "max": 100, "mean": 50.5, "total": 5050}
    assert table["source characters"] == wanted
    assert table["target words"] == dict.fromkeys(("min", "p5", "median", "p95", "p99", "max", "mean"), 2) | {
        "total": 200
    }
    assert {values["total"] for name, values in table.items() if name == "source words"} == {100}


def test_deviations_by_hand():
    """c = 2, the median of 1, 2, 3; differences −10, 0, 20; squares per source 10, 0, 20: median 10."""
    source, target = np.array([10, 10, 20]), np.array([10, 20, 60])
    variance = 10 / 0.4549
    wanted = [-10 / (10 * variance) ** 0.5, 0, 20 / (20 * variance) ** 0.5]
    assert deviations(source, target) == pytest.approx(wanted)
    assert deviations(np.array([4, 4, 4]), np.array([4, 4, 9])).tolist() == [0, 0, 5]  # at least 1 character


def test_deviations_of_normal_lengths_are_standard_normal():
    generator = np.random.default_rng(1)
    source = generator.integers(20, 200, 20000)
    target = np.rint(source * 1.3 + generator.normal(size=20000) * np.sqrt(source * 6.8)).astype(int)
    found = deviations(source, np.maximum(target, 1))
    assert (found.mean(), found.std()) == (pytest.approx(0, abs=0.05), pytest.approx(1, abs=0.03))


def pairs_of_lengths(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Sentences whose targets are about a sixth longer."""
    generator = random.Random(seed)
    lengths = [generator.randint(20, 150) for _ in range(count)]
    return [("s" * n, "t" * max(1, round(n * 1.17 + generator.gauss(0, n**0.5)))) for n in lengths]


def test_a_pair_far_from_the_usual_ratio_is_named():
    pairs = pairs_of_lengths(500)
    assert found("length_ratio", pairs) == []
    pairs[99], pairs[299] = ("s" * 100, "t"), ("s", "t" * 100)
    finding = only("length_ratio", pairs)
    assert (finding.level, finding.count, finding.lines) == ("note", 2, [100, 300])
    assert "1.1" in finding.text
    assert LIMIT == 5


@pytest.mark.parametrize("count", [1, 2, 5])
def test_equal_lengths_have_no_outlier(count):
    assert found("length_ratio", [("ab", "abc")] * count) == []


def test_outliers_do_not_hide_each_other():
    pairs = [*pairs_of_lengths(300), *[("s" * 100, "t" * 2)] * 60]
    assert only("length_ratio", pairs).lines == list(range(301, 361))


@pytest.mark.parametrize("offset", [1, 2, -1, -3])
def test_a_stretch_out_of_step_is_found_with_its_offset(offset):
    """Targets stand some lines further down (or up) from line 401 to line 900."""
    pairs = pairs_of_lengths(1300)
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    moved = targets[:]
    moved[400:900] = [targets[row - offset] for row in range(400, 900)]
    finding = only("alignment", zip(sources, moved, strict=True))
    assert finding.level == "fault"
    assert finding.values["offset"] == offset
    first, last = finding.lines
    assert abs(first - 401) <= 100
    assert abs(last - 900) <= 100
    way = "down" if offset > 0 else "up"
    assert finding.text.endswith(f"stand {abs(offset)} line{'s' * (abs(offset) > 1)} further {way}")


@pytest.mark.parametrize("count", [1, 50, 105, 106, 400])
def test_pairs_in_step_are_never_said_to_be_out_of_it(count):
    assert found("alignment", pairs_of_lengths(count, seed=count)) == []


def test_sides_that_have_nothing_to_do_with_each_other_are_not_called_shifted():
    pairs = zip(
        *([pair[side] for pair in pairs_of_lengths(5000, seed)] for side, seed in ((0, 1), (1, 2))),
        strict=True,
    )
    assert found("alignment", pairs) == []


def test_sorted_lengths_fit_at_every_offset():
    assert found("alignment", sorted(pairs_of_lengths(1000), key=lambda pair: len(pair[0]))) == []


def test_two_shifts_apart_are_two():
    pairs = pairs_of_lengths(2000)
    targets = [target for _, target in pairs]
    for start in (300, 1200):
        targets[start : start + 300] = [pairs[row - 1][1] for row in range(start, start + 300)]
    findings = found("alignment", zip([source for source, _ in pairs], targets, strict=True))
    assert [finding.values["offset"] for finding in findings] == [1, 1]
    assert findings[0].values["last"] < 700 < findings[1].values["first"]
