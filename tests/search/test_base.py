"""Choosing the best with ties in order, maximum lengths, and options refused before any model runs."""

import math

import pytest
import torch
from torch import Tensor

from transduce.config import Spec, dump_options, validate
from transduce.errors import ConfigError
from transduce.experiment import Experiment
from transduce.search import MaxLength, Search
from transduce.search.base import best, check_sizes, near
from transduce.search.rules import MinLength, check_lengths

SIZES = [1, 2, 7, 8, 9, 60, 300, 1024, 1025, 1500, 4095, 4096, 5003, 33000]


def plain(values: Tensor, count: int) -> tuple[list[float], list[int]]:
    """A stable sort of one row in Python, NaN first."""
    row = values.tolist()
    order = sorted(range(len(row)), key=lambda place: -math.inf if math.isnan(row[place]) else -row[place])
    return [row[place] for place in order[:count]], order[:count]


def drawn(size: int, kind: str, rows: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(size)
    if kind == "distinct":
        return torch.randn(rows, size, generator=generator)
    few = torch.randint(0, 4, (rows, size), generator=generator).double()
    return few if kind == "tied" else few.sub(3).log().mul(-1).masked_fill(few > 1, -math.inf)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 10, 24])
@pytest.mark.parametrize("kind", ["distinct", "tied", "mostly -inf"])
@pytest.mark.parametrize("size", SIZES)
def test_best_is_a_stable_sort_cut_short(size: int, kind: str, count: int) -> None:
    count = min(count, size)
    values = drawn(size, kind)
    top, index = best(values, count)
    for row in range(len(values)):
        truth, places = plain(values[row], count)
        assert index[row].tolist() == places
        assert top[row].tolist() == pytest.approx(truth, nan_ok=True)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("size", [5, 40, 1025, 5000])
def test_among_equals_the_earlier_place_wins(size: int, count: int) -> None:
    assert best(torch.zeros(2, size), count)[1].tolist() == [list(range(count))] * 2
    assert best(torch.full((1, size), -math.inf), count)[1].tolist() == [list(range(count))]
    late = torch.zeros(size)
    late[size - 1] = 1.0  # the greatest comes last, its equals' order stays
    assert best(late, count)[1].tolist() == [size - 1, *range(count - 1)]


@pytest.mark.parametrize("size", [3, 40, 1025, 5000])
def test_nan_counts_as_the_greatest(size: int) -> None:
    for place in (0, 1, size // 2, size - 1):
        values = torch.arange(size).double()
        values[place] = math.nan
        for count in (1, 2, 3):
            assert best(values, count)[1][0] == place


def test_best_works_over_the_last_of_any_axes() -> None:
    values = torch.randn(2, 3, 4, 100, generator=torch.Generator().manual_seed(1))
    top, index = best(values, 6)
    assert top.shape == index.shape == (2, 3, 4, 6)
    assert torch.equal(top, values.sort(dim=-1, descending=True)[0][..., :6])
    assert torch.equal(values.gather(-1, index), top)


@pytest.mark.parametrize("size", SIZES)
def test_near_holds_the_best_in_ascending_places(size: int) -> None:
    for kind in ("distinct", "tied"):
        values = drawn(size, kind)
        for count in {min(count, size) for count in (1, 3, 11)}:
            places = near(values, count)
            assert places.diff(dim=-1).gt(0).all()
            assert places.min() >= 0
            assert places.max() < size
            held = torch.zeros(values.shape, dtype=torch.bool).scatter(-1, places, True)
            assert held.gather(-1, best(values, count)[1]).all()
            assert size < 1000 or places.shape[-1] < size / 4  # which is what it is for


def test_maximum_lengths() -> None:
    lengths = torch.tensor([1, 3, 10, 300])
    assert MaxLength().of(lengths).tolist() == [52, 56, 70, 650]  # 2 · S + 50
    assert MaxLength(ratio=0.0, plus=7).of(lengths).tolist() == [7] * 4
    assert MaxLength(ratio=1.5, plus=0).of(lengths).tolist() == [1, 4, 15, 450]  # rounded down
    assert MaxLength(ratio=2.0, plus=-5).of(lengths).tolist() == [1, 1, 15, 595]  # one symbol at least
    assert MaxLength(ratio=0.1, plus=1).of(lengths).dtype == torch.long


def test_maximum_lengths_are_rounded_as_python_does() -> None:
    """In float32, 1.1 · 10^6 is off by a symbol, and so are others."""
    for ratio in (1.1, 0.29, 0.07, 2.3, 1 / 3):
        lengths = [1, 10, 100, 700, 12345, 10**6]
        limits = MaxLength(ratio=ratio, plus=1).of(torch.tensor(lengths)).tolist()
        assert limits == [max(1, math.floor(length * ratio) + 1) for length in lengths]


@pytest.mark.parametrize("name", ["width", "n_best"])
@pytest.mark.parametrize("value", [0, -1])
def test_sizes_below_one_are_refused(name: str, value: int) -> None:
    sizes = {"width": 5, "n_best": 1, name: value}
    with pytest.raises(ConfigError, match=f"^search.{name}: expected at least 1; got {value}$"):
        check_sizes(**sizes)


def test_n_best_above_width_is_refused_naming_both() -> None:
    with pytest.raises(ConfigError, match=r"n_best at most width .*got n_best 3, width 2$"):
        check_sizes(2, 3)


@pytest.mark.parametrize(
    ("ratio", "plus"),
    [(-0.5, 50), (0.0, 0), (0.5, 0), (2.0, -2), (math.inf, 0), (math.nan, 50), (-math.inf, 1)],
)
def test_limits_without_room_are_refused(ratio: float, plus: int) -> None:
    with pytest.raises(ConfigError, match=f"room for one symbol; got ratio {ratio}, plus {plus}$"):
        check_lengths(MinLength(), MaxLength(ratio=ratio, plus=plus))


@pytest.mark.parametrize(("ratio", "plus"), [(0.0, 1), (1.0, 0), (3.0, -2), (2.0, 50)])
def test_limits_with_room_are_fine(ratio: float, plus: int) -> None:
    check_lengths(MinLength(), MaxLength(ratio=ratio, plus=plus))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 5, "n_best": 10}, "n_best 10, width 5"),
        ({"policy": "top-k"}, "search.policy: expected 'top_k' or 'pools'; got 'top-k'"),
        ({"widht": 5}, "unknown key 'widht'; did you mean 'width'"),
        ({"width": 2.5}, "search.width: expected .*integer.*; got 2.5"),
        ({"length_penalty": {"name": "gnmt", "alhpa": 1.0}}, "did you mean 'alpha'"),
        ({"length_penalty": "avarage"}, "did you mean 'average'"),
        ({"max_length": {"ratio": 2.0, "add": 1}}, "unknown key 'add'"),
        ({"coverage": 0.2}, "unknown key 'coverage'; did you mean 'coverage_penalty'"),
    ],
)
def test_what_yaml_may_not_say(options: dict[str, object], message: str) -> None:
    tree = {"data": {"train": "x.tsv"}, "search": {"name": "beam", **options}}
    with pytest.raises(ConfigError, match=message):
        validate(Experiment, tree, "test").search.build()


def test_defaults_written_out() -> None:
    written = dump_options(Search.family["beam"], {})
    assert not written.pop("without")
    assert written == {
        "name": "beam",
        "width": 5,
        "n_best": 1,
        "policy": "top_k",
        "length_penalty": {"name": "average", "alpha": 0.7},
        "coverage_penalty": 0.0,
        "min_length": {"ratio": 0.0, "plus": 0},
        "max_length": {"ratio": 2.0, "plus": 50},
        "no_repeat_ngram": 0,
        "repetition_penalty": 1.0,
        "groups": 1,
        "diversity": 0.0,
        "distinct": "tokens",
    }


@pytest.mark.parametrize("name", list(Search.family))
def test_every_search_of_the_family_has_what_the_loop_reads(name: str) -> None:
    search = Spec(Search, name).build()
    assert search.n_best <= search.width
    assert search.length_penalty.divisor(1.0) == 1.0
    assert search.max_length.of(torch.tensor([4])).tolist() == [58]
