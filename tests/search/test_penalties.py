"""Length penalties by their formulas (REFERENCE §5)."""

import itertools
import math

import pytest
import torch

from transduce.config import Spec, dump_options
from transduce.errors import ConfigError
from transduce.search.penalties import AveragePenalty, GnmtPenalty, LengthPenalty, NoPenalty

LENGTHS = [1.0, 2.0, 4.0, 5.0, 12.0, 100.0]
BUILT = [
    NoPenalty(),
    *(kind(alpha=alpha) for kind in (AveragePenalty, GnmtPenalty) for alpha in (0.0, 0.2, 0.7, 1.0, 2.5)),
]


@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.7, 1.0, 2.0])
@pytest.mark.parametrize("length", LENGTHS)
def test_the_formulas(length: float, alpha: float) -> None:
    assert NoPenalty().divisor(length) == 1.0
    average, gnmt = AveragePenalty(alpha=alpha).divisor(length), GnmtPenalty(alpha=alpha).divisor(length)
    assert average == pytest.approx(math.exp(alpha * math.log(length)), rel=1e-12)
    assert gnmt == pytest.approx(math.exp(alpha * (math.log(5 + length) - math.log(6))), rel=1e-12)


@pytest.mark.parametrize(
    ("alpha", "short", "long"), [(0.0, -2.5, -4.0), (0.6, -1.9601, -2.1413), (1.0, -1.6667, -1.4118)]
)
def test_the_worked_gnmt_table(alpha: float, short: float, long: float) -> None:
    penalty = GnmtPenalty(alpha=alpha)
    assert -2.5 / penalty.divisor(4.0) == pytest.approx(short, abs=5e-5)
    assert -4.0 / penalty.divisor(12.0) == pytest.approx(long, abs=5e-5)


def test_alpha_one_is_the_mean_and_a_length_of_one_changes_nothing() -> None:
    assert [AveragePenalty(alpha=1.0).divisor(length) for length in LENGTHS] == LENGTHS
    assert all(penalty.divisor(1.0) == 1.0 for penalty in BUILT)


@pytest.mark.parametrize("penalty", [AveragePenalty(alpha=0.0), GnmtPenalty(alpha=0.0), NoPenalty()])
def test_alpha_zero_is_off(penalty: LengthPenalty) -> None:
    assert [penalty.divisor(length) for length in LENGTHS] == [1.0] * len(LENGTHS)


@pytest.mark.parametrize("penalty", BUILT)
def test_divisors_never_decrease_so_that_the_greatest_length_bounds(penalty: LengthPenalty) -> None:
    divisors = [penalty.divisor(float(length)) for length in range(1, 200)]
    assert all(one <= two for one, two in itertools.pairwise(divisors))
    assert divisors[0] > 0


@pytest.mark.parametrize("penalty", BUILT)
def test_tensors_and_numbers_agree(penalty: LengthPenalty) -> None:
    lengths = torch.arange(1, 60, dtype=torch.float64)
    divisors = torch.as_tensor(penalty.divisor(lengths)).expand(59)
    plain = torch.tensor([penalty.divisor(float(length)) for length in range(1, 60)], dtype=torch.float64)
    torch.testing.assert_close(divisors.double(), plain, rtol=1e-14, atol=0)


@pytest.mark.parametrize("name", ["average", "gnmt"])
@pytest.mark.parametrize("alpha", [-0.1, -1.0, math.nan, math.inf, -math.inf])
def test_an_alpha_that_cannot_work_is_refused(name: str, alpha: float) -> None:
    with pytest.raises(ConfigError, match=f"alpha: expected 0 or more; got {alpha}"):
        Spec(LengthPenalty, name, {"alpha": alpha}).build()


def test_names_and_defaults() -> None:
    defaults = {name: dump_options(kind, {}) for name, kind in LengthPenalty.family.items()}
    assert defaults["none"] == {"name": "none"}
    assert defaults["average"] == {"name": "average", "alpha": 0.7}
    assert defaults["gnmt"] == {"name": "gnmt", "alpha": 0.6}


@pytest.mark.parametrize("name", list(LengthPenalty.family))
def test_the_family_keeps_the_law(name: str) -> None:
    """Whatever is registered: positive, never decreasing, numbers and tensors alike."""
    penalty = Spec(LengthPenalty, name).build()
    divisors = [penalty.divisor(float(length)) for length in range(1, 100)]
    assert divisors == sorted(divisors)
    assert divisors[0] > 0
    bound = torch.as_tensor(penalty.divisor(torch.tensor([99.0], dtype=torch.float64)))
    assert bound.item() == pytest.approx(divisors[-1])
    assert "α" in (type(penalty).__doc__ or "") or name == "none"  # the formula is said
