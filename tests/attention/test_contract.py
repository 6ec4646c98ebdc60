"""The laws every attention keeps, with every normaliser and window that it takes."""

from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from tests.helpers import at, combinations, doubled, every, label, same
from transduce.attention import Attended, Attention, Keys
from transduce.attention.normalizers import Normalizer
from transduce.attention.windows import Window
from transduce.config import Spec
from transduce.errors import ConfigError
from transduce.types import select

LENGTHS = (5, 1, 3)
B, Q, S = 3, 4, 5
SPECS = combinations(
    Attention,
    {
        "normalizer": every(Normalizer),
        "window": every(Window),
        "units": [4],
        "heads": [1, 2],
        "scaled": [False, True],
    },
)

every_attention = pytest.mark.parametrize("spec", SPECS, ids=label)
every_width = pytest.mark.parametrize("widths", [(6, 6), (6, 4), (4, 6)], ids=str)


class Problem(NamedTuple):
    """Encoder states, their mask, and queries at some positions."""

    values: Tensor
    mask: Tensor
    query: Tensor
    position: Tensor


def problem(widths: tuple[int, int], lengths: tuple[int, ...] = LENGTHS) -> Problem:
    generator = torch.Generator().manual_seed(4)
    values = torch.randn(len(lengths), S, widths[1], generator=generator, dtype=torch.float64)
    query = torch.randn(len(lengths), Q, widths[0], generator=generator, dtype=torch.float64)
    mask = torch.arange(S) < torch.tensor(lengths).unsqueeze(1)
    return Problem(values, mask, query, torch.arange(Q).expand(len(lengths), Q))


def make(spec: Spec[Attention], widths: tuple[int, int]) -> Attention:
    torch.manual_seed(0)
    try:
        return doubled(spec.build(*widths))
    except ConfigError as error:
        pytest.skip(str(error))


def attend(attention: Attention, given: Problem, state: Any = None) -> Attended:
    keys = attention.project(given.values, given.mask)
    state = attention.start(keys, given.query.shape[1]) if state is None else state
    return attention(given.query, keys, given.mask, given.position, state)


def test_every_attention_can_be_made_with_equal_widths() -> None:
    for name in Attention.family:  # so that nothing above hides behind a skip
        assert isinstance(Spec(Attention, name).build(8, 8), Attention)


@every_attention
@every_width
def test_shapes(spec: Spec[Attention], widths: tuple[int, int]) -> None:
    attention, given = make(spec, widths), problem(widths)
    keys = attention.project(given.values, given.mask)
    heads = keys.key.shape[1]
    assert keys.key.shape[:3] == keys.value.shape[:3] == (B, heads, S)
    context, weights, _ = attend(attention, given)
    assert context.shape == (B, Q, attention.context_width)
    assert weights.shape == (B, heads, Q, S)


@every_attention
@every_width
def test_weights_sum_to_one_over_real_tokens_alone(spec: Spec[Attention], widths: tuple[int, int]) -> None:
    given = problem(widths)
    weights = attend(make(spec, widths), given).weights
    assert weights.ge(0).all()
    total = weights.sum(dim=-1)
    if spec.options.get("window") == Spec(Window, "local_p"):  # unnormalised, as in the paper
        assert (total.gt(0) & total.le(1 + 1e-12)).all()
    else:
        same(total, torch.ones_like(total))
    padding = ~given.mask[:, None, None].expand_as(weights)
    assert weights[padding].eq(0).all()  # exactly
    assert weights[0].std() > 1e-3  # and they are no mere average


@every_attention
@every_width
def test_BAT_10_a_row_of_padding_gives_zeros_and_harms_no_other(
    spec: Spec[Attention], widths: tuple[int, int]
) -> None:
    attention, given = make(spec, widths), problem(widths, (3, 0, 5))
    given.values.requires_grad_()
    context, weights, state = attend(attention, given)
    assert weights[1].eq(0).all()
    assert context.isfinite().all()
    assert context[1].eq(0).all()
    others = at(given, 0, 2)
    alone = attend(attention, others)
    same(context[[0, 2]], alone.context)
    same(weights[[0, 2]], alone.weights)
    same(at(state, 0, 2), alone.state)
    context.square().sum().backward()
    assert given.values.grad.isfinite().all()
    assert given.values.grad[1].eq(0).all()


@every_attention
@every_width
def test_values_of_an_empty_row_do_not_reach_its_context(
    spec: Spec[Attention], widths: tuple[int, int]
) -> None:
    attention, given = make(spec, widths), problem(widths, (3, 0, 5))
    moved = given._replace(values=given.values + 1.0)
    same(attend(attention, given).context[1], attend(attention, moved).context[1])


@every_attention
@every_width
def test_what_stands_at_padding_and_how_much_of_it_changes_nothing(
    spec: Spec[Attention], widths: tuple[int, int]
) -> None:
    attention, given = make(spec, widths), problem(widths)
    before = attend(attention, given)
    noise = given.values.masked_fill(given.mask.unsqueeze(2), 0.0) * 1e3
    wide = torch.nn.functional.pad(given.values + noise, (0, 0, 0, 3), value=1e6)
    mask = torch.nn.functional.pad(given.mask, (0, 3), value=False)
    after = attend(attention, given._replace(values=wide, mask=mask))
    same(after.context, before.context)
    same(after.weights[..., :S], before.weights)
    assert after.weights[..., S:].eq(0).all()


@every_attention
@every_width
def test_a_row_is_the_same_alone_and_in_a_batch(spec: Spec[Attention], widths: tuple[int, int]) -> None:
    attention, given = make(spec, widths), problem(widths)
    whole = attend(attention, given)
    for row, length in enumerate(LENGTHS):
        values, mask, query, position = at(given, row)
        alone = attend(attention, Problem(values[:, :length], mask[:, :length], query, position))
        same(alone.context, whole.context[row : row + 1])
        same(alone.weights, whole.weights[row : row + 1, ..., :length])


@every_attention
@every_width
def test_queries_at_once_equal_queries_one_by_one(spec: Spec[Attention], widths: tuple[int, int]) -> None:
    attention, given = make(spec, widths), problem(widths)
    whole = attend(attention, given)
    for q in range(Q):
        one = given._replace(query=given.query[:, q : q + 1], position=given.position[:, q : q + 1])
        context, weights, _ = attend(attention, one)
        same(context, whole.context[:, q : q + 1])
        same(weights, whole.weights[:, :, q : q + 1])


@every_attention
@every_width
def test_state_goes_with_its_rows_and_queries(spec: Spec[Attention], widths: tuple[int, int]) -> None:
    attention, given = make(spec, widths), problem(widths)
    once = attend(attention, given)
    rows, queries = torch.tensor([2, 0, 1, 0]), torch.tensor([1, 3, 0, 0])
    twice = attend(attention, given, once.state)
    moved = attend(attention, select(given, rows), select(once.state, rows))
    same(moved, select(twice, rows))
    other = given._replace(query=given.query[:, queries], position=given.position[:, queries])
    context, weights, _ = attend(attention, other, across(once.state, queries))
    same(context, twice.context[:, queries])
    same(weights, twice.weights[:, :, queries])


def across(state: Any, queries: Tensor) -> Any:
    """These queries of every [B Q …] leaf."""
    if isinstance(state, Tensor):
        return state[:, queries]
    return tuple(across(leaf, queries) for leaf in state)


@every_attention
@every_width
def test_every_parameter_gets_a_finite_gradient(spec: Spec[Attention], widths: tuple[int, int]) -> None:
    attention, given = make(spec, widths), problem(widths, (5, 0, 3))
    given.values.requires_grad_()
    given.query.requires_grad_()
    attend(attention, given).context.square().sum().backward()
    for name, parameter in attention.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
    assert given.values.grad[~given.mask].eq(0).all()
    if spec.name == "none":  # which asks nothing and reads one state
        return
    assert given.query.grad[0].ne(0).any()
    assert given.values.grad[given.mask].ne(0).any(dim=1).all()


@every_attention
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("place", [(0, 0), (1, 4)], ids=["a real token", "padding"])
def test_NaN_in_encoder_states_is_reported(spec: Spec[Attention], bad: float, place: tuple[int, int]) -> None:
    attention, given = make(spec, (6, 6)), problem((6, 6))
    given.values[place] = bad
    with pytest.raises(ValueError, match="encoder states hold NaN or infinity"):
        attention.project(given.values, given.mask)


@every_attention
@pytest.mark.usefixtures("unchecked")
def test_masks_and_shapes_that_do_not_fit_are_refused(spec: Spec[Attention]) -> None:
    attention, (values, mask, query, position) = make(spec, (6, 6)), problem((6, 6))
    for bad_values, bad_mask in [
        (values, mask.long()),
        (values, mask.double()),
        (values, mask[:, :-1]),
        (values, mask[:-1]),
        (values, mask.unsqueeze(2)),
        (values[0], mask[0]),
        (values.unsqueeze(2), mask),
    ]:
        with pytest.raises(ValueError, match=r"expected encoder states \[B S D\] and a bool mask \[B S\]"):
            attention.project(bad_values, bad_mask)
    keys = attention.project(values, mask)
    for bad_query in (query[:, 0], query[:-1], query.unsqueeze(1)):
        with pytest.raises(ValueError, match=r"expected queries \[B Q D\] for the mask's 3 sentences; got"):
            attention(bad_query, keys, mask, position, attention.start(keys, Q))


def test_keys_are_what_their_name_says() -> None:
    assert Keys._fields == ("key", "value")
