"""Which source tokens each target token was written for: kept as ragged rows, given out as matrices."""

from collections.abc import Collection, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transduce.data.index import Ragged

Link = tuple[int, int]  # source word, target word, both from 0
Places = Sequence[int | None]  # of each token the word it stands in


def spread(links: Collection[Link], source: Places, target: Places) -> list[int]:
    """The tokens that links join: target, source, target, source and so on, in order.

    Every token of a source word is joined with every token of the target words linked to it.
    """
    joined = [
        (written, read)
        for written, target_word in enumerate(target)
        for read, source_word in enumerate(source)
        if (source_word, target_word) in links
    ]
    return [place for pair in joined for place in pair]


def alignment_matrix(
    links: Ragged, rows: Sequence[int], target_width: int, source_width: int
) -> Float[Tensor, "B T S"]:
    """Rows that sum to 1 over the source tokens joined with each target token; zeros where there are none."""
    matrix = np.zeros((len(rows), target_width, source_width), dtype=np.float32)
    for number, row in enumerate(rows):
        written, read = links.row(row).reshape(-1, 2).T
        matrix[number, written, read] = 1
    return torch.from_numpy(matrix / np.maximum(1, matrix.sum(axis=2, keepdims=True)))
