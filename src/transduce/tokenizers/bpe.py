"""Byte-pair encoding, over characters."""

import json
from collections.abc import Mapping
from itertools import chain, repeat
from typing import Any, ClassVar

import tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

from transduce.errors import ConfigError
from transduce.tokenizers.dropout import MergeDropout
from transduce.tokenizers.normal_form import NormalForm
from transduce.tokenizers.subword import Border, SubwordTokenizer


class BpeTokenizer(SubwordTokenizer, name="bpe"):
    """Merges the most frequent pair of neighbours, again and again (Sennrich et al., 2016, 1508.07909).

    Encoding repeats the merges in the order they were learnt. Merging stops at `vocab_size`, or where the
    most frequent pair was seen fewer than `min_pair_count` times. `dropout` is the share of merges left out
    at random in training (BPE-dropout), so that a word is seen in many segmentations.
    """

    training_only: ClassVar[tuple[str, ...]] = ("dropout",)

    def __init__(
        self,
        *,
        vocab_size: int = 8000,
        min_count: int = 1,
        min_pair_count: int = 2,
        dropout: float = 0.0,
        border: Border = "punctuation",
        normal_form: NormalForm = "none",
    ) -> None:
        super().__init__(vocab_size, min_count, border, normal_form)
        self.min_pair_count, self.rate = check_pair_count(min_pair_count), check_rate(dropout)
        self.merges: list[tuple[str, str]] = []
        self.model = BPE()

    def learn(self, words: Mapping[str, int], alphabet: list[str]) -> dict[str, Any]:
        merges = learn_merges(words, self.room, self.min_pair_count)
        return {"symbols": with_merged(alphabet, merges), "merges": merges}

    def segment(self, word: str) -> list[str]:
        return [token.value for token in self.model.tokenize(word)]

    def state(self) -> dict[str, Any]:
        return {"symbols": self.symbols, "merges": [list(pair) for pair in self.merges]}

    def load_state(self, state: dict[str, Any]) -> None:
        self.set_pieces(state["symbols"])
        self.merges = [(left, right) for left, right in state["merges"]]
        for left, right in self.merges:
            if not {left, right, left + right} <= self.index.keys():
                raise ValueError(f"merges: expected pieces; got {left!r} + {right!r}")
        self.model = BPE(vocab=self.index, merges=self.merges)
        if self.rate:
            self.draw_by(MergeDropout(self.merges, self.rate, self.pieces))


def check_pair_count(min_pair_count: int) -> int:
    if min_pair_count < 1:
        raise ConfigError(f"min_pair_count: expected at least 1; got {min_pair_count}")
    return min_pair_count


def check_rate(dropout: float) -> float:
    if not 0 <= dropout < 1:
        raise ConfigError(f"dropout: expected at least 0 and below 1; got {dropout}")
    return dropout


def learn_merges(words: Mapping[str, int], size: int, min_pair_count: int) -> list[list[str]]:
    """Pairs in the order of merging, until alphabet and merged pieces are `size`.

    Of equally frequent pairs the one whose parts are older wins; characters are the oldest, in the order of
    code points. (The library's own marks for word ends or continuations would make that order random.)
    """
    learner = tokenizers.Tokenizer(BPE())
    trainer = BpeTrainer(vocab_size=size, min_frequency=min_pair_count, show_progress=False)
    learner.train_from_iterator(chain.from_iterable(repeat(word, n) for word, n in words.items()), trainer)
    return json.loads(learner.to_str())["model"]["merges"]


def with_merged(alphabet: list[str], merges: list[list[str]]) -> list[str]:
    """The vocabulary: the alphabet, then what merges make, in the order of merging."""
    return list(dict.fromkeys(chain(alphabet, (left + right for left, right in merges))))
