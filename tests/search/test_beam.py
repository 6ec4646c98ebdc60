"""One step of beam search against a plain sort."""

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.search.stubs import POLICIES
from transduce.search import Asked, Beam
from transduce.search.beam import BeamSearch, children


def beam_of(*scores: list[float]) -> Beam:
    score = torch.tensor(scores, dtype=torch.float64)
    tokens = torch.zeros(*score.shape, 1, dtype=torch.long)
    asked = Asked.nothing(torch.ones(len(score), dtype=torch.long))
    return Beam(score, score, tokens, score.new_zeros(*score.shape, 0), asked)


def grown(search: BeamSearch, beam: Beam, log_probs: Tensor, eos: int) -> list[tuple[Any, ...]]:
    """For each sentence: the going (parent, token, sum), and the parents that end with their sums."""
    growth = search.grow(beam, log_probs, eos)
    sentences = []
    for row in range(len(beam.score)):
        triples = zip(*(leaf[row].tolist() for leaf in growth[:3]), strict=True)
        going = [(parent, token, score) for parent, token, score in triples if score > -math.inf]
        ends = growth.completions[row].tolist()
        sentences.append((going, {j: end for j, end in enumerate(ends) if end > -math.inf}))
    return sentences


def plainly(
    width: int, policy: str, scores: list[float], log_probs: list[list[float]], eos: int
) -> tuple[Any, ...]:
    """The policies of REFERENCE §5 for one sentence, over a list."""
    every = [
        (parent, token, scores[parent] + log_prob)
        for parent, row in enumerate(log_probs)
        for token, log_prob in enumerate(row)
        if scores[parent] + log_prob > -math.inf
    ]
    every.sort(key=lambda one: -one[2])
    going = [one for one in every if one[1] != eos][:width]
    ends = {
        parent: total
        for parent, token, total in (every[:width] if policy == "top_k" else every)
        if token == eos
    }
    return ([] if width == 1 and policy == "top_k" and ends else going), ends


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("vocab", [1, 2, 3, 9, 70, 1100, 4500])
@pytest.mark.parametrize("tied", [False, True])
def test_one_step_is_a_plain_sort(tied: bool, vocab: int, policy: str) -> None:
    """Beams as wide as the search or narrower, with empty places; any id may be the end."""
    generator = torch.Generator().manual_seed(vocab)
    sizes = ((1, 1), (2, 2), (5, 3), (2, 1), (5, 1), (5, 5), (12, 12))
    for width, parents in sizes if vocab < 1000 else sizes[:3]:
        log_probs = torch.randn(3, parents, vocab, generator=generator, dtype=torch.float64)
        scores = torch.randn(3, parents, generator=generator).double().sort(descending=True)[0]
        if tied:  # eighths, of which sums are exact
            log_probs, scores = log_probs.mul(2).round().div(8), scores.mul(2).round().div(8)
        scores[1, parents - 1 :] = -math.inf if parents > 1 else 0.0
        log_probs = log_probs.masked_fill(torch.rand(log_probs.shape, generator=generator) < 0.1, -math.inf)
        search = BeamSearch(width=width, policy=policy)
        for eos, likely in itertools.product({0, vocab // 2, vocab - 1}, (False, True)):
            if likely:
                log_probs[..., eos] = log_probs.amax(dim=-1)
            before = log_probs.clone()
            found = grown(search, beam_of(*scores.tolist()), log_probs, eos)
            assert torch.equal(log_probs, before)  # read, not written to
            for row in range(3):
                truth = plainly(width, policy, scores[row].tolist(), log_probs[row].tolist(), eos)
                assert found[row] == truth


@pytest.mark.parametrize("policy", POLICIES)
def test_shapes_and_types(policy: str) -> None:
    for width, parents, vocab, after in (
        (5, 1, 9, 5),
        (5, 5, 9, 5),
        (5, 1, 3, 3),
        (8, 3, 2, 6),
        (1, 1, 4, 1),
    ):
        log_probs = torch.randn(2, parents, vocab).log_softmax(-1)
        growth = BeamSearch(width=width, policy=policy).grow(beam_of(*[[-1.0] * parents] * 2), log_probs, 1)
        assert growth.parent.shape == growth.token.shape == growth.score.shape == (2, after)
        assert growth.completions.shape == (2, parents)
        assert growth.score.dtype == growth.completions.dtype == torch.float64  # float32 models too
        assert growth.parent.dtype == growth.token.dtype == torch.long


def test_float32_sums_are_made_in_float64() -> None:
    """At -10^4 float32 cannot tell what float64 can: 2^-12 is half of its step there."""
    log_probs = torch.tensor([[[-9.0, -(2.0**-12), -(2.0**-13)]]])
    growth = BeamSearch(width=2, policy="pools").grow(beam_of([-1e4]), log_probs, 0)
    assert growth.token.tolist() == [[2, 1]]
    assert growth.score[0, 0] == -1e4 - 2.0**-13


def test_top_k_takes_an_end_only_among_the_best() -> None:
    log_probs = torch.tensor([[[-3.0, -1.0, -2.0, -4.0]]], dtype=torch.float64)
    for width, accepted in ((1, False), (2, False), (3, True), (4, True)):
        [(going, ends)] = grown(BeamSearch(width=width), beam_of([0.0]), log_probs, 0)
        assert ends == ({0: -3.0} if accepted else {})
        assert [token for _, token, _ in going] == [1, 2, 3][:width]
        [(_, ends)] = grown(BeamSearch(width=width, policy="pools"), beam_of([0.0]), log_probs, 0)
        assert ends == {0: -3.0}


def test_top_k_refills_from_what_does_not_end() -> None:
    """Both parents end at the two best places, and two others go on."""
    log_probs = torch.tensor([[[-0.1, -3.0, -4.0], [-0.1, -2.5, -5.0]]], dtype=torch.float64)
    [(going, ends)] = grown(BeamSearch(width=2), beam_of([0.0, -1.0]), log_probs, 0)
    assert ends == {0: -0.1, 1: -1.1}
    assert going == [(0, 1, -3.0), (1, 1, -3.5)]


@pytest.mark.parametrize("eos", [0, 1, 2])
def test_ties_between_an_end_and_others_go_by_place(eos: int) -> None:
    log_probs = torch.full((1, 1, 3), -1.0, dtype=torch.float64)
    for width in (1, 2, 3):
        [(_, ends)] = grown(BeamSearch(width=width), beam_of([0.0]), log_probs, eos)
        assert bool(ends) == (eos < width)
    second = torch.full((1, 2, 3), -1.0, dtype=torch.float64)
    [(going, ends)] = grown(BeamSearch(width=2), beam_of([0.0, 0.0]), second, eos)
    assert set(ends) == ({0} if eos < 2 else set())  # the first parent's come before the second's
    assert [parent for parent, _, _ in going] == [0, 0]


def test_a_beam_of_one_is_over_when_it_ends() -> None:
    log_probs = torch.tensor([[[-0.5, -1.0, -2.0]], [[-1.0, -0.5, -2.0]]], dtype=torch.float64)
    ended, going = grown(BeamSearch(width=1), beam_of([0.0], [0.0]), log_probs, 0)
    assert ended == ([], {0: -0.5})
    assert going == ([(0, 1, -0.5)], {})
    ended, going = grown(BeamSearch(width=1, policy="pools"), beam_of([0.0], [0.0]), log_probs, 0)
    assert ended == ([(0, 1, -1.0)], {0: -0.5})
    assert going == ([(0, 1, -0.5)], {0: -1.0})


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("vocab", [4, 50, 5000])
def test_nan_cannot_hide(vocab: int, width: int, policy: str) -> None:
    for place, eos in itertools.product((0, vocab // 2, vocab - 1), (0, vocab - 1)):
        log_probs = torch.full((1, width, vocab), -1.0)
        log_probs[0, width - 1, place] = math.nan
        growth = BeamSearch(width=width, policy=policy).grow(beam_of([-1.0] * width), log_probs, eos)
        assert growth.score.isnan().any() or growth.completions.isnan().any()


def test_empty_places_stay_empty() -> None:
    log_probs = torch.zeros(1, 3, 4)
    log_probs[0, 0] = torch.tensor([-1.0, -1.0, -2.0, -math.inf])
    for policy in POLICIES:
        search = BeamSearch(width=3, policy=policy)
        [(going, ends)] = grown(search, beam_of([-1.0, -math.inf, -math.inf]), log_probs, 0)
        assert going == [(0, 1, -2.0), (0, 2, -3.0)]
        assert ends == {0: -2.0}


def test_children() -> None:
    parent, chosen = torch.tensor([[0, 2, 2, 0]]), torch.tensor([[False, True, False, False]])
    assert children(parent, chosen, 4).tolist() == [[False, False, True, False]]
