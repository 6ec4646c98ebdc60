"""Watches a decoding, and keeps what a trace tells of it."""

from typing import NamedTuple

from transduce.search import Moment, Search
from transduce.search.sights import Active, Ending, Option, Rank, Sight, Sights
from transduce.tokenizers import Tokenizer
from transduce.trace import Candidate, Fate, Hypothesis, Result, Score, Step
from transduce.translation import END, Translation
from transduce.types import BOS, EOS

START = "<s>"


class Grown(NamedTuple):
    """A hypothesis that the next step finds in the beam."""

    id: int
    parent: int | None
    token: str


class Record:
    """What was seen of one sentence: `places` hold who stands where in the beam."""

    def __init__(self, copies: int) -> None:
        self.places = {place: Grown(place, None, START) for place in range(copies)}
        self.count = copies
        self.steps: list[Step] = []
        self.ranks: dict[Ending, tuple[int, Rank]] = {}  # the hypothesis, and what it is worth so
        self.results: list[Ending] = []


class Recorder:
    """Records every step of every sentence; `decode` calls it."""

    def __init__(self, search: Search, tokenizer: Tokenizer, alternatives: int, sentences: int) -> None:
        self.sights = Sights(search, EOS, alternatives)
        self.tokenizer = tokenizer
        self.records = [Record(search.copies) for _ in range(sentences)]

    def __call__(self, moment: Moment) -> None:
        for number, sight in self.sights(moment):
            self._keep(self.records[number], sight)

    def result(self, number: int, place: int, told: Translation) -> Result:
        """One of the results kept of a sentence, by its place among them; `told` is the same as text."""
        record = self.records[number]
        hypothesis, rank = record.ranks[record.results[place]]
        return Result(
            text=told.text,
            log_prob=told.log_prob,
            score=score(rank),
            finished=told.finished,
            hypothesis=hypothesis,
        )

    def _keep(self, record: Record, sight: Sight) -> None:
        children = {
            place: Grown(record.count + order, record.places[parent].id, self._name(token))
            for order, (place, (parent, token)) in enumerate(sight.children.items())
        }
        record.count += len(children)
        beam = [self._hypothesis(record.places[active.place], active, children) for active in sight.beam]
        record.steps.append(Step(beam=beam))
        for active in sight.beam:
            hypothesis = record.places[active.place].id
            record.ranks[Ending(sight.step, active.place, False)] = hypothesis, active.rank
            if active.ending is not None:
                record.ranks[Ending(sight.step, active.place, True)] = hypothesis, active.ending
        record.places, record.results = children, sight.results

    def _hypothesis(self, grown: Grown, active: Active, children: dict[int, Grown]) -> Hypothesis:
        return Hypothesis(
            id=grown.id,
            parent=grown.parent,
            token=grown.token,
            log_prob=active.log_prob,
            score=score(active.rank),
            ending=active.ending and score(active.ending),
            entropy=active.entropy,
            candidates=[self._candidate(option, children) for option in active.options],
        )

    def _candidate(self, option: Option, children: dict[int, Grown]) -> Candidate:
        child = None if option.child is None else children[option.child].id
        fate: Fate = "pruned" if option.reason else "completed" if child is None else "kept"
        return Candidate(
            id=option.token,
            token=self._name(option.token),
            log_prob=option.log_prob,
            sum=option.sum,
            fate=fate,
            child=child,
            reason=option.reason,
        )

    def _name(self, token: int) -> str:
        return {BOS: START, EOS: END}.get(token) or self.tokenizer.token(token)


def score(rank: Rank) -> Score:
    return Score(total=rank.total, sum=rank.sum, divisor=rank.divisor, coverage=rank.coverage)
