"""The baseline without attention."""

import torch

from transduce.attention.none import NoAttention

VALUES = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0))
MASK = torch.arange(4) < torch.tensor([[4], [2]])
QUERY, POSITION = torch.zeros(2, 5, 7), torch.arange(5).expand(2, 5)


def test_every_step_gets_the_state_at_the_real_last_token() -> None:
    attention = NoAttention(7, 3)
    context, weights, state = attention(QUERY, attention.project(VALUES, MASK), MASK, POSITION, ())
    assert state == ()
    for t in range(5):
        torch.testing.assert_close(context[:, t], torch.stack([VALUES[0, 3], VALUES[1, 1]]))
    assert weights[0, 0, :, 3].eq(1).all()
    assert weights[1, 0, :, 1].eq(1).all()
    assert weights.sum() == 10


def test_it_can_give_no_context_at_all() -> None:
    attention = NoAttention(7, 3, context=False)
    assert attention.context_width == 0
    context, weights, _ = attention(QUERY, attention.project(VALUES, MASK), MASK, POSITION, ())
    assert context.shape == (2, 5, 0)
    assert weights.shape == (2, 1, 5, 4)
    assert not list(attention.parameters())


def test_the_final_state_is_the_context_where_the_encoder_has_one() -> None:
    """Of a bidirectional encoder the state at the last token has read only that token backwards."""
    attention, final = NoAttention(7, 3), torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    context, weights, _ = attention(QUERY, attention.project(VALUES, MASK, final), MASK, POSITION, ())
    torch.testing.assert_close(context, final.unsqueeze(1).expand(-1, 5, -1))
    assert weights[1, 0, :, 1].eq(1).all()
