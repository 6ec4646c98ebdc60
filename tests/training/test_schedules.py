"""Schedules against their formulas."""

import math

import pytest

from transduce.config import Spec
from transduce.errors import ConfigError
from transduce.training.schedules import Moment, Schedule


def factor(name: str, update: int = 1, epochs: float = 0.0, reductions: int = 0, **options) -> float:
    return Spec(Schedule, name, options).build().factor(Moment(update, epochs, 100, reductions))


@pytest.mark.parametrize("name", list(Schedule.family))
def test_every_schedule_gives_a_rate_at_any_moment(name: str) -> None:
    for update in (1, 2, 50, 99, 100, 5000):
        value = factor(name, update, update / 10, update // 20)
        assert 0 <= value <= 1 + 1e-12
        assert value == factor(name, update, update / 10, update // 20)


@pytest.mark.parametrize(
    ("update", "rate"),
    [(1, 0.25), (2, 0.5), (3, 0.75), (4, 1.0), (5, 0.894427), (7, 0.755929), (8, 0.707107), (16, 0.5)],
)
def test_inverse_square_root(update: int, rate: float) -> None:
    assert factor("inverse_sqrt", update, warmup=4) == pytest.approx(rate, abs=1e-6)


def test_noam_is_equation_3() -> None:
    for update in (1, 10, 4000, 90000):
        expected = 512**-0.5 * min(update**-0.5, update * 4000**-1.5)
        assert factor("noam", update) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "rates"),
    [
        ({}, {0.0: 1, 4.99: 1, 5.0: 0.5, 5.9: 0.5, 6.0: 0.25, 9.5: 0.03125}),  # Luong
        ({"after": 8.0}, {7.9: 1, 8.0: 0.5, 11.9: 0.0625}),
        ({"every": 0.5}, {4.9: 1, 5.0: 0.5, 5.5: 0.25, 6.0: 0.125, 7.4: 0.03125}),  # Sutskever
    ],
)
def test_halving(options: dict[str, float], rates: dict[float, float]) -> None:
    for epochs, rate in rates.items():
        assert factor("halving", epochs=epochs, **options) == pytest.approx(rate)


def test_plateau_falls_with_each_reduction_to_its_floor() -> None:
    assert [factor("plateau", reductions=n, decay=0.1, floor=0.005) for n in range(4)] == pytest.approx(
        [1, 0.1, 0.01, 0.005]
    )


def test_cosine_goes_from_one_to_none() -> None:
    assert factor("cosine", 50) == pytest.approx(0.5)
    assert factor("cosine", 100) == pytest.approx(0.0)
    assert factor("cosine", 25) == pytest.approx((1 + math.cos(math.pi / 4)) / 2)
    assert [factor("cosine", n, warmup=10) for n in (1, 5, 10)] == pytest.approx([0.1, 0.5, 1.0])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("inverse_sqrt", {"warmup": 0}),
        ("noam", {"width": 0}),
        ("halving", {"every": 0.0}),
        ("plateau", {"patience": 0}),
        ("plateau", {"decay": 1.0}),
        ("cosine", {"warmup": -1}),
    ],
)
def test_what_cannot_work_is_refused(name: str, options: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="schedule"):
        Spec(Schedule, name, options).build()
