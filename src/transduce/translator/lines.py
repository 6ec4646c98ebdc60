"""What is asked of each line, as text and as ids: how its output begins, what it holds and what it lacks."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from transduce.errors import DataError
from transduce.search import Asked, Search
from transduce.tokenizers import Tokenizer
from transduce.types import UNK

Ids = list[int]
FILLING = -1  # fills up lists of ids


class Line(NamedTuple):
    """A text to translate, and what is asked of its output; `number` is its place in the input, from 0."""

    number: int
    text: str
    prefix: str = ""
    phrases: Sequence[str] = ()


def numbered(
    texts: Sequence[str],
    prefix: Sequence[str] | None = None,
    phrases: Sequence[Sequence[str]] | None = None,
    first: int = 0,
) -> list[Line]:
    """Texts with what is asked of each. Raises DataError unless there is as much of each."""
    prefix = [""] * len(texts) if prefix is None else prefix
    phrases = [()] * len(texts) if phrases is None else phrases
    for name, given in (("prefix", prefix), ("phrases", phrases)):
        if isinstance(given, str) or len(given) != len(texts):
            what = repr(given) if isinstance(given, str) else len(given)
            raise DataError(f"{name}: expected one for each of the {len(texts)} texts; got {what}")
    for place, (start, held) in enumerate(zip(prefix, phrases, strict=True), first + 1):
        if not isinstance(start, str):
            raise DataError(f"line {place}: prefix: expected a text; got {start!r}")
        if isinstance(held, str) or not all(isinstance(phrase, str) for phrase in held):
            raise DataError(f"line {place}: phrases: expected a list of texts; got {held!r}")
    return [
        Line(first + place, *asked) for place, asked in enumerate(zip(texts, prefix, phrases, strict=True))
    ]


def count(lines: Iterable[str | Line]) -> Iterator[Line]:
    """Lines as they are, and plain texts as lines that ask for nothing, numbered from 0."""
    for number, line in enumerate(lines):
        yield line if isinstance(line, Line) else Line(number, line)


def ask(lines: Sequence[Line], lengths: Sequence[int], tokenizer: Tokenizer, search: Search) -> Asked:
    """What a search is asked for these lines, whose sources have so many tokens.

    A phrase is the tokens of its text; a banned one also those after a space, where a tokenizer tells these
    apart. Raises DataError for what the target vocabulary cannot say, or what contradicts itself.
    """
    banned = banned_phrases(search.rules.without, tokenizer)
    prefix = [encode(line.prefix, tokenizer, f"line {line.number + 1}: prefix") for line in lines]
    phrases = [encode_phrases(line, tokenizer) for line in lines]
    if any(phrases):
        search.check_phrases()
    for line, start, held in zip(lines, prefix, phrases, strict=True):
        check_banned(line, [start, *held], banned, tokenizer)
    return Asked(
        line=torch.tensor([line.number for line in lines]),
        length=torch.tensor(lengths),
        prefix=filled([prefix])[0],
        phrases=filled(phrases),
        banned=filled([banned], right=False).expand(len(lines), -1, -1),
    )


def room(asked: Asked, limits: Int[Tensor, " B"]) -> Int[Tensor, " B"]:
    """Maximum lengths, raised where prefix and phrases alone need more."""
    needed = (asked.prefix >= 0).sum(dim=1) + (asked.phrases >= 0).sum(dim=(1, 2))
    return torch.maximum(limits, needed)


def encode(text: str, tokenizer: Tokenizer, where: str) -> Ids:
    encoding = tokenizer.encode(text)
    for index, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
        if index == UNK:
            raise DataError(
                f"{where} {text!r}: expected what the target vocabulary can say; {text[start:end]!r} "
                "was never a target in training"
            )
    return encoding.ids


def encode_phrases(line: Line, tokenizer: Tokenizer) -> list[Ids]:
    """The ids of each phrase, once each."""
    where = f"line {line.number + 1}: phrase"
    every = [encode(text, tokenizer, where) for text in line.phrases]
    if not all(every):
        raise DataError(f"{where}: expected at least one token in each; got {list(line.phrases)}")
    return [list(ids) for ids in dict.fromkeys(map(tuple, every))]


def banned_phrases(texts: Iterable[str], tokenizer: Tokenizer) -> list[Ids]:
    """The ids of each, at the start of a text and within one; what has no ids is never said anyway."""
    both = [tokenizer.encode(start + text).ids for text in texts for start in ("", " ")]
    return [list(ids) for ids in dict.fromkeys(map(tuple, both)) if ids and UNK not in ids]


def check_banned(line: Line, asked: Sequence[Sequence[int]], banned: list[Ids], tokenizer: Tokenizer) -> None:
    for ids in asked:
        for phrase in banned:
            if any(list(ids[place : place + len(phrase)]) == phrase for place in range(len(ids))):
                raise DataError(
                    f"line {line.number + 1}: {tokenizer.decode(ids)!r} is asked for and holds "
                    f"{tokenizer.decode(phrase)!r}, which search.without bans"
                )


def filled(rows: Sequence[Sequence[Sequence[int]]], *, right: bool = True) -> Int[Tensor, "B C M"]:
    """Lists of lists of ids, filled up to the longest of both."""
    lists = max(map(len, rows))
    longest = max((len(ids) for row in rows for ids in row), default=0)
    tensor = torch.full((len(rows), lists, longest), FILLING)
    for row, many in enumerate(rows):
        for place, ids in enumerate(many):
            at = slice(len(ids)) if right else slice(longest - len(ids), longest)
            tensor[row, place, at] = torch.tensor(ids, dtype=torch.long)
    return tensor
