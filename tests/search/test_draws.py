"""Hashed counters: the hash against integers in Python, and statistics of what they give."""

import math

import pytest
import torch
from torch import Tensor

from transduce.search.draws import mix, uniform

MASK = 2**64 - 1


def plain_mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def plain_uniform(seed: int, *places: int) -> float:
    state = plain_mix(seed)
    for place in places:
        state = plain_mix((state + (place + 1) * 0x9E3779B97F4A7C15) & MASK)
    return ((state >> 11) + 0.5) / 2**53


def test_the_hash_is_that_of_whole_numbers() -> None:
    known = [0, 1, 2, 12345, 2**31, 2**62 + 7, 2**63 - 1]
    assert [x & MASK for x in mix(torch.tensor(known)).tolist()] == [plain_mix(x) for x in known]
    for seed in (0, 1, 2**63 - 1):
        for places in ((0, 0, 0), (5, 2, 9), (10**9, 0, 3)):
            found = uniform(seed, *(torch.tensor([place]) for place in places))
            assert found.tolist() == [plain_uniform(seed, *places)]


def test_the_sequence_of_one_place_is_splitmix64() -> None:
    """Published outputs of SplitMix64 seeded with 1234567: its n-th state is the seed + n · golden."""
    first = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    states = torch.tensor(
        [(1234567 + n * 0x9E3779B97F4A7C15) & MASK for n in range(1, 5)], dtype=torch.uint64
    )
    assert [x & MASK for x in mix(states.view(torch.int64)).tolist()] == first


def grid(*sizes: int) -> list[Tensor]:
    return list(torch.meshgrid(*(torch.arange(size) for size in sizes), indexing="ij"))


def chi_square(counts: Tensor) -> float:
    """In standard deviations from what an even spread gives on average."""
    expected = counts.sum().item() / counts.numel()
    statistic = ((counts.double() - expected) ** 2 / expected).sum().item()
    return (statistic - (counts.numel() - 1)) / math.sqrt(2 * (counts.numel() - 1))


@pytest.mark.parametrize("seed", [0, 1, 2, 987654321])
def test_numbers_are_spread_evenly(seed: int) -> None:
    numbers = uniform(seed, *grid(100, 20, 50)).flatten()
    assert numbers.min() > 0
    assert numbers.max() < 1
    assert abs(chi_square(torch.histc(numbers, 256, 0, 1))) < 4
    low = (numbers * 2**30).long() % 64  # middle bits too, not the first alone
    assert abs(chi_square(torch.bincount(low, minlength=64))) < 4


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_neighbours_are_independent(axis: int) -> None:
    """Pairs of numbers that differ in one place by one, in 32 · 32 boxes; and the same with seeds."""
    numbers = uniform(3, *grid(101, 21, 51))
    size = numbers.shape[axis]
    one, other = numbers.narrow(axis, 0, size - 1), numbers.narrow(axis, 1, size - 1)
    for first, second in ((one, other), (uniform(4, *grid(101, 21, 51)), numbers)):
        boxes = (first * 32).long() * 32 + (second * 32).long()
        assert abs(chi_square(torch.bincount(boxes.flatten(), minlength=1024))) < 4


def test_each_place_and_the_seed_count() -> None:
    numbers = torch.stack([uniform(seed, *grid(7, 5, 6)) for seed in range(5)]).flatten().tolist()
    assert len(set(numbers)) == 5 * 7 * 5 * 6
