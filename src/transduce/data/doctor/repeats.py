"""What stands more than once. Texts are kept as hashes of 64 bits, so that a million lines fit in memory."""

from collections.abc import Iterator

import numpy as np

from transduce.data.doctor.base import Check, Finding, many, share
from transduce.data.doctor.window import Ints, Window
from transduce.data.tally import MOST_LINES, Tally


class Duplicates(Check, name="duplicates"):
    """Pairs that an earlier line holds already, both sides equal."""

    def __init__(self) -> None:
        self.lines: list[Ints] = []
        self.pairs: list[Ints] = []

    def look(self, window: Window) -> None:
        self.lines.append(np.array(window.lines, dtype=np.int64))
        pairs = zip(window.source.texts, window.target.texts, strict=True)
        self.pairs.append(np.fromiter(map(hash, pairs), np.int64, len(window.lines)))

    def findings(self) -> Iterator[Finding]:
        lines, pairs = np.concatenate(self.lines), np.concatenate(self.pairs)
        _, first = np.unique(pairs, return_index=True)
        repeats = np.delete(lines, first)
        if len(repeats):
            tally = Tally()
            tally.add(repeats.tolist())
            text = f"{many(tally.count, 'pair')} ({share(tally.count, len(lines))}) in an earlier line too"
            yield Finding(self.name, "fault", text, tally.count, tally.lines)


class Ambiguity:
    """Texts of one side that stand beside several of the other."""

    def __init__(self) -> None:
        self.lines: list[Ints] = []
        self.keys: list[Ints] = []
        self.values: list[Ints] = []

    def look(self, window: Window, keys: list[str], values: list[str]) -> None:
        self.lines.append(np.array(window.lines, dtype=np.int64))
        self.keys.append(hashes(keys))
        self.values.append(hashes(values))

    def count(self) -> tuple[int, int, list[int]]:
        """How many texts, in how many pairs, and the lines of the first of these pairs."""
        lines, keys, values = (np.concatenate(parts) for parts in (self.lines, self.keys, self.values))
        order = np.argsort(keys)
        keys, values = keys[order], values[order]
        differs = np.flatnonzero((keys[1:] == keys[:-1]) & (values[1:] != values[:-1]))
        several = np.unique(keys[differs])
        concerned = np.sort(lines[order[np.isin(keys, several)]])
        return len(several), len(concerned), concerned[:MOST_LINES].tolist()


def hashes(texts: list[str]) -> Ints:
    return np.fromiter(map(hash, texts), np.int64, len(texts))


class SeveralTargets(Check, name="several_targets"):
    """Sources with several different targets: a model can learn only one of them, or a mean of them."""

    def __init__(self) -> None:
        self.ambiguity = Ambiguity()

    def look(self, window: Window) -> None:
        self.ambiguity.look(window, window.source.texts, window.target.texts)

    def findings(self) -> Iterator[Finding]:
        texts, pairs, lines = self.ambiguity.count()
        if texts:
            text = f"{many(texts, 'source')} with several different targets, in {pairs:,} pairs"
            yield Finding(self.name, "note", text, texts, lines, values={"pairs": pairs})


class SeveralSources(Check, name="several_sources"):
    """Targets of several different sources: usual where sources vary in spelling, doubtful elsewhere."""

    def __init__(self) -> None:
        self.ambiguity = Ambiguity()

    def look(self, window: Window) -> None:
        self.ambiguity.look(window, window.target.texts, window.source.texts)

    def findings(self) -> Iterator[Finding]:
        texts, pairs, lines = self.ambiguity.count()
        if texts:
            text = f"{many(texts, 'target')} with several different sources, in {pairs:,} pairs"
            yield Finding(self.name, "note", text, texts, lines, values={"pairs": pairs})
