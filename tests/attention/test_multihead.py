"""Multi-head attention against torch's, with the same weights, and against its formula."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from tests.helpers import doubled, numbers, parameters, same, softmax
from transduce.attention import Attended
from transduce.attention.multihead import MultiHeadAttention
from transduce.errors import ConfigError

LENGTHS = (5, 2)


def problem(query_width: int, memory_width: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    query = torch.randn(2, 3, query_width, generator=generator, dtype=torch.float64)
    values = torch.randn(2, 5, memory_width, generator=generator, dtype=torch.float64)
    return query, values, torch.arange(5) < torch.tensor(LENGTHS).unsqueeze(1)


def attend(
    attention: MultiHeadAttention, query: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
) -> Attended:
    position = torch.zeros(query.shape[:2], dtype=torch.long)
    return attention(query, attention.project(values, mask), mask, position, ())


def torchs(attention: MultiHeadAttention, query_width: int, memory_width: int) -> nn.MultiheadAttention:
    """torch's own module with the parameters of ours; unequal widths make it keep three matrices."""
    theirs = nn.MultiheadAttention(
        query_width,
        attention.heads,
        kdim=memory_width,
        vdim=memory_width,
        batch_first=True,
        dtype=torch.float64,
    )
    parts = (attention.query, attention.key, attention.value)
    with torch.no_grad():
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        if query_width == memory_width:
            theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        else:
            theirs.q_proj_weight.copy_(parts[0].weight)
            theirs.k_proj_weight.copy_(parts[1].weight)
            theirs.v_proj_weight.copy_(parts[2].weight)
    theirs.out_proj.load_state_dict(attention.combine.state_dict())
    return theirs.eval()


@pytest.mark.parametrize(("widths", "heads"), [((8, 8), 1), ((8, 8), 4), ((8, 6), 2), ((6, 10), 3)])
def test_equals_torchs(widths: tuple[int, int], heads: int) -> None:
    attention = doubled(MultiHeadAttention(*widths, heads=heads))
    query, values, mask = problem(*widths)
    context, weights, _ = attend(attention, query, values, mask)
    expected, seen = torchs(attention, *widths)(
        query, values, values, key_padding_mask=~mask, average_attn_weights=False
    )
    same(context, expected)
    same(weights, seen)


def test_the_formula() -> None:
    """Head k: softmax((Q_k s)ᵀ (K_k h_i) / √d_head) over values V_k h_i; heads joined, then projected."""
    attention = doubled(MultiHeadAttention(6, 4, heads=2))
    query, values, mask = problem(6, 4)
    context, weights, _ = attend(attention, query, values, mask)
    p = parameters(attention)
    for b, length in enumerate(LENGTHS):
        s, h = numbers(query)[b], numbers(values)[b, :length]
        q, k, v = (
            x @ p[f"{name}.weight"].T + p[f"{name}.bias"]
            for name, x in (("query", s), ("key", h), ("value", h))
        )
        joined = []
        for head, part in enumerate((slice(0, 3), slice(3, 6))):
            alpha = softmax(q[:, part] @ k[:, part].T / math.sqrt(3))
            np.testing.assert_allclose(numbers(weights)[b, head, :, :length], alpha, rtol=1e-10)
            joined.append(alpha @ v[:, part])
        expected = np.concatenate(joined, axis=1) @ p["combine.weight"].T + p["combine.bias"]
        np.testing.assert_allclose(numbers(context)[b], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("width", "heads"), [(6, 4), (8, 3), (4, 8), (8, 0), (8, -2)])
def test_a_width_that_heads_do_not_divide_is_refused_naming_both(width: int, heads: int) -> None:
    with pytest.raises(ConfigError, match=rf"got width {width} and heads {heads}$"):
        MultiHeadAttention(width, 8, heads=heads)
