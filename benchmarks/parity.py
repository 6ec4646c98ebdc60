"""The 12-way copy-and-reverse model of a Flax NNX tutorial, made of this package's parts.

No EOS, no PAD: 12 symbols in, BOS = 12 begins the decoder input, 12 symbols out. One-way GRU encoder and GRU
decoder of width 64 (no hidden bias: 56,236 parameters), multi-head cross-attention with 4 heads, one linear
head on [state; context]. Adam 3e-3, batch 128, 30 epochs over 1,024 sequences.

Run: python benchmarks/parity.py [SEED …]
Prints the training curve beside the published one, then scores on 1,024 unseen sequences.
"""

import sys
import time

import torch
from torch import Tensor, nn

from transduce.attention.multihead import MultiHeadAttention
from transduce.layers.cells import GruCell
from transduce.layers.initializers import lecun_normal_

SYMBOLS, LENGTH, EMBEDDING, WIDTH, PAIRS, BATCH, EPOCHS = 12, 8, 32, 64, 1024, 128, 30
PUBLISHED = {0: (2.3614, 0.1953), 5: (1.6474, 0.4102), 8: (0.7278, 0.7129), 12: (0.1573, 0.9648)}
PUBLISHED |= {17: (0.0294, 0.9980), 20: (0.0144, 1.0), 29: (0.0046, 1.0)}


class Probe(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(SYMBOLS, EMBEDDING), nn.Embedding(SYMBOLS + 1, EMBEDDING)
        self.encoder, self.decoder = GruCell(EMBEDDING, WIDTH), GruCell(EMBEDDING, WIDTH)
        self.attention = MultiHeadAttention(WIDTH, WIDTH, heads=4)
        self.head = nn.Linear(2 * WIDTH, SYMBOLS)
        for name, parameter in self.named_parameters():
            if name in ("source.weight", "target.weight"):
                nn.init.normal_(parameter, std=EMBEDDING**-0.5)
            elif "weight_hh" in name:
                nn.init.orthogonal_(parameter)
            elif parameter.dim() == 2:
                lecun_normal_(parameter)
            else:
                nn.init.zeros_(parameter)
            parameter.requires_grad_("bias_hh" not in name)  # as nnx.GRUCell, which has none

    def forward(self, source: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        zero = (torch.zeros(len(source), WIDTH),)
        memory, _ = self.encoder.run(self.source(source), zero)
        states, _ = self.decoder.run(self.target(inputs), zero)
        mask = torch.ones(source.shape, dtype=torch.bool)
        position = torch.arange(inputs.shape[1]).expand(len(inputs), -1)
        keys = self.attention.project(memory, mask)
        context, weights, _ = self.attention(states, keys, mask, position, ())
        return self.head(torch.cat([states, context], dim=-1)), weights

    @torch.no_grad()
    def generate(self, source: Tensor) -> Tensor:
        inputs = torch.full((len(source), 1), SYMBOLS)
        for _ in range(source.shape[1]):
            inputs = torch.cat([inputs, self(source, inputs)[0][:, -1:].argmax(-1)], dim=1)
        return inputs[:, 1:]


def shifted(target: Tensor) -> Tensor:
    return torch.cat([torch.full((len(target), 1), SYMBOLS), target[:, :-1]], dim=1)


def train(seed: int) -> Probe:
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(SYMBOLS, (PAIRS, LENGTH), generator=torch.Generator().manual_seed(0))
    model = Probe()
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    for epoch in range(EPOCHS):
        for rows in torch.randperm(PAIRS, generator=generator).split(BATCH):
            target = source[rows].flip(1)
            logits, _ = model(source[rows], shifted(target))
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch in PUBLISHED:
            accuracy = (logits.argmax(-1) == target).double().mean().item()
            print(f"  epoch {epoch:>2}  {loss.item():.4f} {accuracy:.4f}   published {PUBLISHED[epoch]}")
    return model


def main() -> None:
    torch.set_num_threads(1)
    unseen = torch.randint(SYMBOLS, (1024, LENGTH), generator=torch.Generator().manual_seed(10_000))
    for seed in [int(argument) for argument in sys.argv[1:]] or [0, 1, 2]:
        print(f"seed {seed}")
        start = time.process_time()
        model = train(seed)
        seconds = time.process_time() - start
        target = unseen.flip(1)
        logits, weights = model(unseen, shifted(target))
        forced = (logits.argmax(-1) == target).double().mean().item()
        free = model.generate(unseen) == target
        peaks = weights.mean(1).argmax(-1)  # [B T]
        mirror = LENGTH - 1 - torch.arange(LENGTH)
        parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)
        print(
            f"  {parameters:,} parameters, {seconds:.1f} s CPU; unseen: teacher-forced {forced:.4f}, "
            f"free-running {free.double().mean():.4f}, exact {free.all(1).double().mean():.4f}; "
            f"rows that peak at T-1-t {(peaks == mirror).double().mean():.3f}, "
            f"at T-t {(peaks == mirror + 1).double().mean():.3f}"
        )


if __name__ == "__main__":
    main()
