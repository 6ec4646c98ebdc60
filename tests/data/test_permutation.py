"""Permutations computed place by place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.data.permutation import Permutation, scrambled


@given(st.integers(0, 3000), st.lists(st.integers(0, 2**40), min_size=1, max_size=3))
def test_every_place_has_one_image(size, seed):
    images = Permutation(size, seed)(np.arange(size))
    assert sorted(images.tolist()) == list(range(size))


@pytest.mark.parametrize("size", [10_007, 999_983, 1_000_000, 1_048_577])
def test_large_ones_too_and_in_any_portions(size):
    permutation = Permutation(size, [1, 2])
    images = permutation(np.arange(size))
    assert np.bincount(images, minlength=size).max() == 1
    np.testing.assert_array_equal(permutation(np.arange(500, 900)), images[500:900])


def test_the_places_given_are_left_alone():
    places = np.arange(100)
    Permutation(100, [1])(places)
    assert places.tolist() == list(range(100))


def test_seeds_tell_permutations_apart():
    places = np.arange(10_000)
    images = [Permutation(10_000, [seed, epoch])(places) for seed in range(3) for epoch in range(3)]
    for number, one in enumerate(images):
        for other in images[:number]:
            assert (one == other).mean() < 0.002  # one place in 10,000, were they random


@pytest.mark.parametrize("size", [1000, 62_500, 10**7])
def test_images_are_as_good_as_random(size):
    places = np.arange(min(size, 50_000))
    images = Permutation(size, [7])(places)
    within = 5 / np.sqrt(len(places))
    assert abs(np.corrcoef(places, images)[0, 1]) < within
    assert abs(np.corrcoef(images[:-1], images[1:])[0, 1]) < within
    apart = np.abs(np.diff(images)) / size
    assert apart.mean() == pytest.approx(1 / 3, abs=within)  # of two random numbers in 0 … 1
    assert (apart < 0.01).mean() == pytest.approx(0.02, abs=within)


def test_of_three_places_all_six_orders_come():
    orders = {tuple(Permutation(3, [seed])(np.arange(3))) for seed in range(200)}
    assert len(orders) == 6


def test_numbers_are_scrambled_evenly():
    found = scrambled(np.arange(100_000), np.uint64(12345))
    assert found.min() >= 0
    counts = np.histogram(found, bins=16, range=(0, 2**62))[0]
    assert (np.abs(counts - 6250) < 5 * np.sqrt(6250)).all()
