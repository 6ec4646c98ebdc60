"""All ways to cut many words into pieces at once: the sums that the unigram tokenizer is learnt by."""

from array import array
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Lattice:
    """Nodes are the places in words, edges the pieces between them.

    Nodes are numbered place by place, and within a place by word, longest word first, so that everything
    that ends at one place of all words is one slice of the edges. Single characters must be pieces.
    """

    def __init__(self, words: Sequence[str], index: Mapping[str, int], *, whole: bool = True) -> None:
        """Edges of `words` (longest first) for pieces in `index`; `whole`: also a word as its own piece."""
        self.lengths = np.array([len(word) for word in words], dtype=np.int64)
        longest = int(self.lengths.max(initial=0))
        self.widths = np.array([(self.lengths >= place).sum() for place in range(longest + 1)], np.int64)
        self.offsets = np.concatenate([[0], self.widths.cumsum()])
        self.words = np.concatenate([np.arange(width) for width in self.widths])
        self._edges(*self._cut(words, index, whole))

    def keep(self, alive: NDArray[np.bool_]) -> None:
        """Leaves out the edges of pieces that are no longer alive."""
        kept = alive[self.pieces]
        self._edges(self.starts[kept], self.ends[kept], self.pieces[kept])

    def expected(self, scores: Floats, counts: Floats) -> Floats:
        """How often each piece is expected where word i was seen counts[i] times, Σ over all cuttings."""
        before, after = self._forward(np.logaddexp, scores), self._backward(scores)
        logs = before[self.starts] + scores[self.pieces] + after[self.ends]
        words = self.words[self.starts]
        shares = np.exp(logs - after[words]) * counts[words]  # a word's first node has the word's number
        return np.asarray(np.bincount(self.pieces, shares, len(scores)), dtype=np.float64)

    def best(self, scores: Floats) -> Floats:
        """The score of each word's best cutting."""
        return self._forward(np.maximum, scores)[self.offsets[self.lengths] + np.arange(len(self.lengths))]

    def _cut(self, words: Sequence[str], index: Mapping[str, int], whole: bool) -> list[Ints]:
        starts, ends, pieces = array("q"), array("q"), array("q")
        longest, offsets = max(map(len, index), default=0), self.offsets.tolist()
        for row, word in enumerate(words):
            for start in range(len(word)):
                for end in range(start + 1, min(start + longest, len(word)) + 1):
                    piece = index.get(word[start:end])
                    if piece is not None and (whole or end - start < len(word)):
                        starts.append(offsets[start] + row)
                        ends.append(offsets[end] + row)
                        pieces.append(piece)
        return [np.array(numbers, dtype=np.int64) for numbers in (starts, ends, pieces)]

    def _edges(self, starts: Ints, ends: Ints, pieces: Ints) -> None:
        order = np.argsort(ends, kind="stable")
        self.starts, self.ends, self.pieces = starts[order], ends[order], pieces[order]
        self.by_start = np.argsort(self.starts, kind="stable")
        nodes = np.arange(self.offsets[-1] + 1)
        self.first_in = np.searchsorted(self.ends, nodes)
        self.first_out = np.searchsorted(self.starts[self.by_start], nodes)

    def _forward(self, reduce: np.ufunc, scores: Floats) -> Floats:
        values = np.zeros(self.offsets[-1])
        for start, end in zip(self.offsets[1:-1], self.offsets[2:], strict=True):
            low, high = self.first_in[start], self.first_in[end]
            candidates = values[self.starts[low:high]] + scores[self.pieces[low:high]]
            values[start:end] = reduce.reduceat(candidates, self.first_in[start:end] - low)
        return values

    def _backward(self, scores: Floats) -> Floats:
        values = np.zeros(self.offsets[-1])
        for place in range(len(self.widths) - 2, -1, -1):
            start = self.offsets[place]
            end = start + self.widths[place + 1]  # the words that go on from here
            low, high = self.first_out[start], self.first_out[end]
            edges = self.by_start[low:high]
            candidates = values[self.ends[edges]] + scores[self.pieces[edges]]
            values[start:end] = np.logaddexp.reduceat(candidates, self.first_out[start:end] - low)
        return values
