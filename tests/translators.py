"""Whole translators of random models, made in memory, and one stub that copies what it is given."""

import random
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from tests.helpers import doubled
from transduce.config import validate
from transduce.decoders import Decoder
from transduce.encoders import Encoder
from transduce.experiment import Experiment
from transduce.translator import Translator
from transduce.types import EOS, CellState, Encoded, Output, Shape, Source

ALPHABET = "abcdefghijkl"

KINDS: dict[str, dict[str, Any]] = {
    "gru+additive": {
        "encoder": {"cell": "gru", "width": 8, "embedding": 8},
        "decoder": {
            "cell": "gru",
            "width": 12,
            "attend": "before",
            "attention": {"name": "additive", "units": 8},
        },
    },
    "lstm+dot": {
        "encoder": {"cell": "lstm", "width": 6, "embedding": 8, "layers": 2},
        "decoder": {
            "cell": "lstm",
            "width": 12,
            "layers": 2,
            "attend": "after",
            "input_feeding": True,
            "attention": "dot",
        },
    },
    "gru+multihead": {
        "encoder": {"cell": "gru", "width": 8, "embedding": 8},
        "decoder": {
            "cell": "gru",
            "width": 12,
            "attend": "after",
            "input_feeding": False,
            "attention": {"name": "multihead", "heads": 4},
        },
    },
}


def make(kind: str, dtype: torch.dtype = torch.float64, tokenizer: str = "char", seed: int = 3) -> Translator:
    """A translator of a random model, in evaluation mode."""
    return made(KINDS[kind], dtype, tokenizer, seed)


def made(
    model_settings: Mapping[str, Any],
    dtype: torch.dtype = torch.float64,
    tokenizer: str = "char",
    seed: int = 3,
) -> Translator:
    """The same, of any model."""
    tree = {
        "data": {"train": {"name": "copy_reverse"}},
        "tokenizer": {"source": tokenizer, "target": tokenizer},
        "model": model_settings,
        "search": {"max_length": {"ratio": 1, "plus": 6}},
    }
    experiment = validate(Experiment, tree, "test")
    fitted = experiment.tokenizer.source.build()
    fitted.fit(ALPHABET)
    torch.manual_seed(seed)
    model = doubled(experiment.model.build(fitted.vocab_size, fitted.vocab_size), seed, scale=3.0).to(dtype)
    model.decoder.output.bias.data[EOS] += 0.5
    return Translator(experiment, fitted, fitted, model)


def lines(longest: int = 20) -> list[str]:
    """One line of each length up to `longest`, in no order."""
    rng = random.Random(1)
    drawn = ["".join(rng.choices(ALPHABET, k=length)) for length in range(1, longest + 1)]
    return rng.sample(drawn, longest)


class Reader(Encoder):
    """Reads nothing: the stub below looks at the source itself."""

    shape = Shape(1, 1, 1, 1)

    def forward(self, source: Source) -> Encoded:
        nothing = torch.zeros(len(source.mask), 1, 1)
        return Encoded(source.tokens.unsqueeze(-1).float(), source.mask, CellState(nothing, nothing))


class Copier(Decoder):
    """Says its source again, EOS and all; looks at the token that it says."""

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size

    def init(self, source: Source, encoded: Encoded) -> tuple[Any, Any]:
        return (source.tokens,), (torch.zeros(len(source.tokens), dtype=torch.long),)

    def step(self, memory: Any, state: Any, token: Tensor, *, weights: bool = False) -> tuple[Any, Output]:
        (tokens,), (position,) = memory, state
        rows = torch.arange(len(position)) // (len(position) // len(tokens))
        place = position.clamp(max=tokens.shape[1] - 1)
        logits = 9.0 * nn.functional.one_hot(tokens[rows, place], self.vocab_size)
        seen = nn.functional.one_hot(place, tokens.shape[1])[:, None, None].float()
        return (position + 1,), Output(logits.log_softmax(dim=-1), seen if weights else None)

    def forward(self, source: Source, encoded: Encoded, tokens: Tensor, *, weights: bool = False) -> Output:
        memory, state = self.init(source, encoded)
        outputs = []
        for token in tokens.unbind(dim=1):
            state, output = self.step(memory, state, token, weights=weights)
            outputs.append(output)
        log_probs, seen = zip(*outputs, strict=True)
        return Output(torch.stack(log_probs, dim=1), torch.stack(seen, dim=1) if weights else None)
