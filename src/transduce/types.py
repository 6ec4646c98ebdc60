"""The values that flow between encoder, decoder and search.

Axes: B batch, K beam, N = B·K rows, Q queries, S source length, T target length, V vocabulary,
D width, L layers, H heads. Every tensor is batch-first, and a mask is True at real tokens.
"""

from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor

PAD, UNK, BOS, EOS = range(4)
SPECIALS = 4


class Source(NamedTuple):
    """A batch of source sentences, padded on the right: what encoder and decoder are given.

    `others` holds the same sentences as members of an ensemble with other source vocabularies read them.
    """

    tokens: Int[Tensor, "B S"]
    mask: Bool[Tensor, "B S"]
    features: Int[Tensor, "B F"] | None = None
    extended: Int[Tensor, "B S"] | None = None
    others: tuple["Source", ...] = ()


class CellState(NamedTuple):
    """The state of stacked recurrent layers; `cell` is zero for cells that have none."""

    hidden: Float[Tensor, "B L D"]
    cell: Float[Tensor, "B L D"]


class Encoded(NamedTuple):
    """A source after encoding; `final` is taken at each sentence's real last token."""

    values: Float[Tensor, "B S D"]
    mask: Bool[Tensor, "B S"]
    final: CellState


class Shape(NamedTuple):
    """What a decoder must know of its encoder: widths of values and final state, layers, directions."""

    width: int
    final_width: int
    layers: int
    directions: int


class Output(NamedTuple):
    """Next-token log-probabilities [… V] and, where asked for, attention weights [… L H S]."""

    log_probs: Float[Tensor, "*batch V"]
    weights: Float[Tensor, "*batch L H S"] | None


def select(tree: Any, rows: Int[Tensor, " N"]) -> Any:
    """Gathers batch rows from every tensor in nested tuples."""
    if tree is None or isinstance(tree, Tensor):
        return tree if tree is None else tree.index_select(0, rows)
    leaves = [select(leaf, rows) for leaf in tree]
    return tuple(leaves) if type(tree) is tuple else type(tree)(*leaves)


def move(tree: Any, device: Any) -> Any:
    """Every tensor in nested tuples on this device."""
    if tree is None or isinstance(tree, Tensor):
        return tree if tree is None else tree.to(device, non_blocking=True)
    leaves = [move(leaf, device) for leaf in tree]
    return tuple(leaves) if type(tree) is tuple else type(tree)(*leaves)


def check_source(source: Source) -> Source:
    """Refuses a source that no model could read; called once, where a batch is built."""
    tokens, mask = source.tokens, source.mask
    if mask.shape != tokens.shape or str(mask.dtype) != "torch.bool":
        raise ValueError(
            f"source mask: expected bool {tuple(tokens.shape)}, True at real tokens; "
            f"got {mask.dtype} {tuple(mask.shape)}"
        )
    if not mask.any(dim=1).all():
        empty = (~mask.any(dim=1)).nonzero().flatten().tolist()
        raise ValueError(f"source: expected a real token in every row; got empty rows {empty}")
    if (mask[:, 1:] & ~mask[:, :-1]).any():
        raise ValueError("source mask: expected padding on the right only; got a real token after padding")
    return source
