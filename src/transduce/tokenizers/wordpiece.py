"""WordPiece: merged pieces, the longest first."""

from collections.abc import Mapping
from typing import Any

from transduce.tokenizers.bpe import check_pair_count, learn_merges, with_merged
from transduce.tokenizers.normal_form import NormalForm
from transduce.tokenizers.subword import Border, SubwordTokenizer


class WordPieceTokenizer(SubwordTokenizer, name="wordpiece"):
    """Takes the longest piece that fits, from left to right (Wu et al., 2016, 1609.08144; BERT's encoding).

    The vocabulary is learnt by merging frequent pairs, as in `bpe`, which is what the published WordPiece
    trainers do in place of the unpublished original. No `##` is needed, since a piece that begins a word
    starts with its space; and an unknown character costs one token, not the word around it.
    """

    def __init__(
        self,
        *,
        vocab_size: int = 8000,
        min_count: int = 1,
        min_pair_count: int = 2,
        border: Border = "punctuation",
        normal_form: NormalForm = "none",
    ) -> None:
        super().__init__(vocab_size, min_count, border, normal_form)
        self.min_pair_count = check_pair_count(min_pair_count)
        self.longest = 0

    def learn(self, words: Mapping[str, int], alphabet: list[str]) -> dict[str, Any]:
        return {"symbols": with_merged(alphabet, learn_merges(words, self.room, self.min_pair_count))}

    def segment(self, word: str) -> list[str]:
        pieces, start = [], 0
        while start < len(word):
            ends = range(min(len(word), start + self.longest), start, -1)
            end = next(end for end in ends if word[start:end] in self.index)
            pieces.append(word[start:end])
            start = end
        return pieces

    def state(self) -> dict[str, Any]:
        return {"symbols": self.symbols}

    def load_state(self, state: dict[str, Any]) -> None:
        self.set_pieces(state["symbols"])
        self.longest = max(map(len, self.symbols), default=0)
