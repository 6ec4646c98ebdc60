"""Watches a decoding, and keeps what a trace tells of it."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transduce.search import Beam, Moment, Search
from transduce.search.base import best
from transduce.search.phrases import hold_all
from transduce.search.results import worth
from transduce.tokenizers import Tokenizer
from transduce.trace import Candidate, Hypothesis, Result, Score, Step
from transduce.translation import END, START, Translation
from transduce.types import BOS, EOS, select

TOO_LONG, HOPELESS = "longer than max_length", "could not win"
NO_PHRASE, TWICE, CROWDED = "lacks a phrase", "written by another group", "not among the n best"
Reasons = list[tuple[str, Bool[Tensor, "B J V"]]]


class Place(NamedTuple):
    """A place of the beam that a hypothesis takes at the next step."""

    id: int
    parent: int | None
    token: str


class Record:
    """What was seen of one sentence: `places` hold its active hypotheses, None where one is empty."""

    def __init__(self, copies: int) -> None:
        self.places: list[Place | None] = [Place(place, None, START) for place in range(copies)]
        self.count = copies
        self.steps: list[Step] = []
        self.active: dict[tuple[int, int], Hypothesis] = {}  # by step and place
        self.endings: dict[tuple[int, int], Score] = {}
        self.found: list[tuple[int, int, bool]] = []  # step and place of each result, and whether it ended

    def result(self, rank: int, told: Translation) -> Result:
        """What a trace tells of one of the results kept."""
        step, place, finished = self.found[rank]
        hypothesis = self.active[step, place]
        score = self.endings[step, place] if finished else hypothesis.score
        return Result(
            text=told.text, log_prob=told.log_prob, score=score, finished=finished, hypothesis=hypothesis.id
        )


class Recorder:
    """Records every step of every sentence, with the `alternatives` likeliest tokens of each hypothesis."""

    def __init__(self, search: Search, tokenizer: Tokenizer, alternatives: int, sentences: int) -> None:
        self.search, self.alternatives = search, alternatives
        names = [tokenizer.token(index) for index in range(tokenizer.vocab_size)]
        self.names = [*names[:BOS], START, END, *names[EOS + 1 :]]
        self.records = [Record(search.copies) for _ in range(sentences)]

    def __call__(self, moment: Moment) -> None:
        """Keeps one step of all sentences that are not done; a search calls it."""
        reasons = list(self.search.rules.forbidden(moment.log_probs, moment.live.beam, EOS))
        live = moment.live
        for row, number in enumerate(live.rows.tolist()):
            if moment.step <= live.limit[row]:
                here: Moment = select(moment._replace(step=None), torch.tensor([row]))
                view = View(self.search, here._replace(step=moment.step), select(reasons, torch.tensor([row])))
                self._keep(self.records[number], view)

    def _keep(self, record: Record, view: "View") -> None:
        children = self._children(record, view)
        beam = []
        for place, taken in enumerate(record.places):
            if taken is not None:
                record.active[view.step, place] = self._hypothesis(taken, place, view, children)
                beam.append(record.active[view.step, place])
            if view.ending.total[0, place] > -torch.inf:
                record.endings[view.step, place] = score(view.ending, view.completions, place)
        record.steps.append(Step(beam=beam))
        record.found = view.found
        record.places = [children.get(place) for place in range(view.width)]

    def _children(self, record: Record, view: "View") -> dict[int, Place]:
        """What goes on to the next step, by its place there."""
        children = {}
        for place, (parent, token) in view.going.items():
            grown = record.places[parent]
            children[place] = Place(record.count, grown and grown.id, self.names[token])
            record.count += 1
        return children
