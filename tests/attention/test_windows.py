"""Which source positions a target position may look at."""

import pytest
import torch

from transduce.attention.windows import GlobalWindow, Window
from transduce.config import Spec

MASK = torch.arange(6) < torch.tensor([4, 6, 0]).unsqueeze(1)


@pytest.mark.parametrize("name", list(Window.family))
def test_no_window_reaches_padding_nor_leaves_a_real_row_without_a_token(name: str) -> None:
    position = torch.arange(9).expand(3, 9)  # past the end of every source
    allowed = Spec(Window, name).build()(MASK, position).expand(3, 9, 6)
    assert not (allowed & ~MASK.unsqueeze(1)).any()
    assert allowed[:2].any(dim=-1).all()
    assert not allowed[2].any()


def test_global_allows_every_real_token() -> None:
    allowed = GlobalWindow()(MASK, torch.arange(2).expand(3, 2))
    assert allowed.expand(3, 2, 6).equal(MASK.unsqueeze(1).expand(3, 2, 6))
