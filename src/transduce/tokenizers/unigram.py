"""Unigram language model over pieces."""

import math
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from tokenizers.models import Unigram

from transduce.errors import ConfigError
from transduce.tokenizers.cuttings import Cuttings, UnigramSampling
from transduce.tokenizers.lattice import Floats, Lattice
from transduce.tokenizers.normal_form import NormalForm
from transduce.tokenizers.subword import Border, SubwordTokenizer, count_characters

READ = 500_000  # characters of different words learnt from, the most frequent words first
SEEDS = 10  # as many pieces to begin with for each one wanted
SHRINK = 0.75  # of the pieces outlive one round
ROUNDS = 2  # of expectation and maximisation before each pruning
DISCOUNT = 0.5  # exp(digamma(c)) ≈ c - 1/2: the sparse prior of the reference implementation
RARE = 0.1  # expected occurrences left to a character that pieces have taken over
DIGITS = 6  # of a score that is kept


class UnigramTokenizer(SubwordTokenizer, name="unigram"):
    """Chooses the pieces whose product of probabilities is highest (Kudo, 2018, 1804.10959).

    Learning starts from frequent stretches of up to `max_length` characters, fits their probabilities by
    expectation-maximisation, and drops those whose loss costs the likelihood least until `vocab_size`
    remain. It is our own: the library's trainer stops short of suffixes, may never end on small
    vocabularies, and gives other scores in each process. `sample` draws other segmentations in training
    (subword regularisation).
    """

    training_only: ClassVar[tuple[str, ...]] = ("sample",)

    def __init__(
        self,
        *,
        vocab_size: int = 8000,
        min_count: int = 1,
        max_length: int = 16,
        sample: UnigramSampling | None = None,
        border: Border = "punctuation",
        normal_form: NormalForm = "none",
    ) -> None:
        super().__init__(vocab_size, min_count, border, normal_form)
        if max_length < 1:
            raise ConfigError(f"max_length: expected at least 1; got {max_length}")
        self.max_length, self.sampling = max_length, sample
        self.scores: list[float] = []
        self.model = Unigram()

    def learn(self, words: Mapping[str, int], alphabet: list[str]) -> dict[str, Any]:
        scores = learn_scores(words, alphabet, self.room, self.max_length)
        ordered = sorted(scores, key=lambda piece: (-scores[piece], piece))
        return {"symbols": ordered, "scores": [scores[piece] for piece in ordered]}

    def segment(self, word: str) -> list[str]:
        return [token.value for token in self.model.tokenize(word)]

    def state(self) -> dict[str, Any]:
        return {"symbols": self.symbols, "scores": self.scores}

    def load_state(self, state: dict[str, Any]) -> None:
        self.set_pieces(state["symbols"])
        self.scores = [float(score) for score in state["scores"]]
        if not all(map(math.isfinite, self.scores)):
            raise ValueError("scores: expected finite numbers")
        scores = dict(zip(self.symbols, self.scores, strict=True))
        self.model = Unigram(vocab=list(scores.items()))
        if self.sampling is not None:
            self.draw_by(Cuttings(scores, self.sampling.alpha))


def learn_scores(
    words: Mapping[str, int], alphabet: list[str], size: int, max_length: int
) -> dict[str, float]:
    """log p of each piece: the alphabet and the most useful stretches, at most `size` in all."""
    read = common(words)
    learner = Learner(read, frequent(read, max_length, SEEDS * size), alphabet)
    while True:
        for _ in range(ROUNDS):
            learner.maximise()
        if learner.alive.sum() <= size:
            return learner.result()
        learner.prune(size - len(alphabet))


def common(words: Mapping[str, int]) -> dict[str, int]:
    """The most frequent words, as many as are read."""
    ordered = sorted(words.items(), key=lambda item: (-item[1], item[0]))
    ends = accumulate(len(word) for word, _ in ordered)
    return dict(item for item, end in zip(ordered, ends, strict=True) if end <= READ or item is ordered[0])


def frequent(words: Mapping[str, int], max_length: int, most: int) -> dict[str, int]:
    """Stretches of two characters and more that are seen twice, those that cover most text first."""
    found = Counter[str]()
    before: Mapping[str, int] = Counter(character for word in words for character in word)
    for length in range(2, max_length + 1):
        now = Counter[str]()
        for word, count in words.items():
            for start in range(len(word) - length + 1):
                piece = word[start : start + length]
                if piece[:-1] in before and piece[1:] in before:
                    now[piece] += count
        before = {piece: count for piece, count in now.items() if count > 1}
        found.update(before)
    ordered = sorted(found.items(), key=lambda item: (-item[1] * len(item[0]), item[0]))
    return dict(ordered[:most])


class Learner:
    """Pieces, which of them are still alive, and their scores, log p."""

    def __init__(self, words: Mapping[str, int], seeds: Mapping[str, int], alphabet: list[str]) -> None:
        ordered = sorted(words, key=len, reverse=True)
        self.counts = np.array([words[word] for word in ordered], dtype=np.float64)
        self.seeds = sorted(seeds, key=len, reverse=True)
        self.pieces = [*self.seeds, *alphabet]
        index = {piece: number for number, piece in enumerate(self.pieces)}
        self.words, self.inner = Lattice(ordered, index), Lattice(self.seeds, index, whole=False)
        self.alive = np.ones(len(index), dtype=np.bool_)
        seen = [*map(seeds.__getitem__, self.seeds), *map(count_characters(words).__getitem__, alphabet)]
        self._score(np.maximum(np.array(seen, dtype=np.float64), RARE))

    def maximise(self) -> None:
        """One round of expectation and maximisation; pieces hardly expected at all die."""
        self.expected = self.words.expected(self.scores, self.counts)
        self.alive[: len(self.seeds)] &= self.expected[: len(self.seeds)] >= 1
        self._score(np.maximum(self.expected - DISCOUNT, RARE))
        self._bury()

    def prune(self, wanted: int) -> None:
        """Leaves those multi-character pieces that it would cost most to replace by others."""
        long = np.flatnonzero(self.alive[: len(self.seeds)])
        loss = self.expected[long] * (self.scores[long] - self.inner.best(self.scores)[long])
        loss = loss.round(DIGITS)  # so that no last bit decides between equals
        wanted = max(wanted, int(SHRINK * len(long)))
        self.alive[long[np.argsort(-loss, kind="stable")[wanted:]]] = False
        self._bury()

    def result(self) -> dict[str, float]:
        return {self.pieces[n]: round(float(self.scores[n]), DIGITS) for n in np.flatnonzero(self.alive)}

    def _score(self, weights: Floats) -> None:
        weights = np.where(self.alive, weights, 0)
        self.scores = np.full(len(weights), -np.inf)
        np.log(weights / weights.sum(), out=self.scores, where=self.alive)

    def _bury(self) -> None:
        self.words.keep(self.alive)
        self.inner.keep(self.alive)
