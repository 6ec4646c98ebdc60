"""Word links over tokens, and as matrices."""

import numpy as np
import torch

from transduce.data.alignments import alignment_matrix, spread
from transduce.data.index import Ragged


def test_links_are_spread_over_the_tokens_of_their_words():
    # source words 0 0 _ 1, target words 0 1 1: both source words are read for target word 1
    links = {(0, 1), (1, 1)}
    found = spread(links, [0, 0, None, 1], [0, 1, 1])
    pairs = list(zip(found[::2], found[1::2], strict=True))
    assert pairs == [(1, 0), (1, 1), (1, 3), (2, 0), (2, 1), (2, 3)]
    assert spread(set(), [0], [0]) == spread(links, [], [0]) == spread(links, [None], [0]) == []


def test_matrices_share_each_target_token_among_what_it_was_read_from():
    links = Ragged.of([[0, 0], [], [1, 0, 1, 2, 0, 1]])
    found = alignment_matrix(links, [2, 1, 0], 3, 4)
    expected = torch.zeros(3, 3, 4)
    expected[0, 0, 1], expected[0, 1, 0], expected[0, 1, 2], expected[2, 0, 0] = 1, 0.5, 0.5, 1
    assert torch.equal(found, expected)
    assert found.dtype == torch.float32


def test_rows_sum_to_one_or_are_empty():
    rng = np.random.default_rng(0)
    sets = [sorted({tuple(pair) for pair in rng.integers(0, 6, (n, 2)).tolist()}) for n in range(12)]
    links = Ragged.of([place for pair in pairs for place in pair] for pairs in sets)
    sums = alignment_matrix(links, range(12), 6, 6).sum(dim=2)
    for row, pairs in enumerate(sets):
        written = {target for target, _ in pairs}
        torch.testing.assert_close(sums[row], torch.tensor([float(t in written) for t in range(6)]))
