"""The sequence-to-sequence model: an encoder and a decoder; the object that a search drives."""

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from transduce.config import Settings, Spec
from transduce.decoders import Decoder
from transduce.encoders import Encoder
from transduce.errors import ConfigError
from transduce.layers.initializers import Initializer
from transduce.types import Output, Source


class Seq2Seq(nn.Module):
    """P(y | x) = ∏ P(y_t | y_<t, x): `forward` for known targets, `start` and `step` for a search."""

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    @property
    def members(self) -> "tuple[Seq2Seq]":
        """The models that this is of, as an ensemble has several."""
        return (self,)

    @property
    def attends(self) -> bool:
        """Whether they say where it looked."""
        return self.decoder.attends

    @property
    def device(self) -> torch.device:
        """Where its parameters lie; the CPU, if it has none."""
        return next((parameter.device for parameter in self.parameters()), torch.device("cpu"))

    def forward(self, source: Source, tokens: Int[Tensor, "B T"], *, weights: bool = False) -> Output:
        """Log-probabilities [B T V] after each prefix of `tokens`, which begin with BOS."""
        return self.decoder(source, self.encoder(source), tokens, weights=weights)

    def start(self, source: Source) -> tuple[Any, Any]:
        """Encodes; gives (memory, state) with one row a sentence."""
        return self.decoder.init(source, self.encoder(source))

    def step(
        self, memory: Any, state: Any, token: Int[Tensor, " N"], *, weights: bool = False
    ) -> tuple[Any, Output]:
        return self.decoder.step(memory, state, token, weights=weights)


class ModelSettings(Settings):
    """What `model:` may hold. `source_eos` ends every source with EOS.

    `share_embeddings` gives encoder and decoder one table; with `decoder.tied` it is the output layer too
    (Vaswani et al. 2017, §3.4). It needs one vocabulary for both sides: `tokenizer.shared`.
    """

    encoder: Spec[Encoder] = Spec(Encoder, "recurrent")
    decoder: Spec[Decoder] = Spec(Decoder, "recurrent")
    initializer: Spec[Initializer] = Spec(Initializer, "default")
    source_eos: bool = True
    share_embeddings: bool = False

    def build(self, source_vocab: int, target_vocab: int) -> Seq2Seq:
        """A freshly initialised model for vocabularies of these sizes."""
        encoder = self.encoder.build(source_vocab)
        model = Seq2Seq(encoder, self.decoder.build(target_vocab, encoder.shape))
        if self.share_embeddings:
            share(encoder, model.decoder)
        self.initializer.build()(model)
        return model


def share(encoder: Encoder, decoder: Decoder) -> None:
    """Makes the decoder's embedding table the encoder's too."""
    source, target = encoder.embedding.table.weight, decoder.embedding.table.weight
    if source.shape != target.shape:
        raise ConfigError(
            f"model.share_embeddings: expected one vocabulary and one width; got {source.shape[0]} source "
            f"symbols of width {source.shape[1]}, {target.shape[0]} target symbols of width {target.shape[1]}"
        )
    encoder.embedding.table.weight = target
