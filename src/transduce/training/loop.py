"""The one training loop: a generator of events, which progress bars, logs and saves consume."""

import contextlib
from collections.abc import Callable, Generator, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import torch

from transduce.data.batch import Batch
from transduce.errors import ModelError, TrainingError
from transduce.model import Seq2Seq
from transduce.training.averaging import MovingAverage
from transduce.training.distributed import ALONE, Team
from transduce.training.learner import SMALLER, Learner, Made
from transduce.training.schedules import Moment, Schedule
from transduce.training.settings import LoopSettings
from transduce.training.state import TrainState

Batches = Callable[[int, int], Iterator[Batch]]  # (epoch, position) to the rest of that epoch
Validate = Callable[[], Mapping[str, float] | None]  # None: stopped before it was through


class Plan(NamedTuple):
    """How long, how often, and what is best; counts are of updates, but `per_epoch` of batches."""

    updates: int
    validate_every: int
    save_every: int
    report_every: int
    per_epoch: int
    select: str
    higher_is_better: bool


class Step(NamedTuple):
    """One update: mean loss over its real target tokens (natural log), gradient norm before clipping.

    `parts` is the number of passes it took: more than `accumulate` where memory did not suffice.
    """

    update: int
    epoch: int
    loss: float
    tokens: int
    gradient_norm: float
    lr: float
    parts: int = 1


class Report(NamedTuple):
    """Means since the last report: over target tokens, or, of gradient norms, over updates."""

    update: int
    epoch: int
    loss: float
    teacher_forced_accuracy: float
    gradient_norm: float
    lr: float
    tokens: int


class Validation(NamedTuple):
    """Dev scores by name; `improved` says that the selected one is the best so far."""

    update: int
    epoch: int
    scores: Mapping[str, float]
    improved: bool
    best: float | None
    bad_validations: int


class Save(NamedTuple):
    """Now is the moment to save: everything is consistent until the consumer asks for the next event."""

    update: int


Event = Step | Report | Validation | Save


def train(
    model: Seq2Seq,
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    validate: Validate,
    settings: LoopSettings,
    plan: Plan,
    state: TrainState,
    stop: Callable[[], bool],
    *,
    average: MovingAverage | None = None,
    team: Team = ALONE,
) -> Iterator[Event]:
    """Trains until the plan is done, patience is out, or `stop()`; `state` says where it stands.

    A validation happens every `validate_every` updates and at the end, of the moving average where there
    is one; its event comes while the model has those parameters. Raises TrainingError where the loss is
    not finite, before parameters are changed.
    """
    model.train()
    schedule, learner = settings.schedule.build(), Learner(model, optimizer, settings, state, average, team)

    settle = Pause(model, validate, plan, settings, schedule, state, average, stop, team)
    if state.due and (yield from settle()):  # where the last sitting was stopped while it validated
        return
    while not state.finished:
        for window in windows(batches(state.epoch, state.position), settings.accumulate):
            set_rate(optimizer, schedule, plan, state)
            made = learner.update(window, state)
            state.position += len(window)
            if made is None:
                state.skipped += 1
                continue
            yield (step := count(made, optimizer, state))
            if state.update % plan.report_every == 0:
                yield report(step, state)
            state.due = state.update % plan.validate_every == 0 or state.update >= plan.updates
            if (yield from settle()):
                return
        state.epoch, state.position = state.epoch + 1, 0


class Pause(NamedTuple):
    """What happens between two updates: a validation and a save where they are due, and perhaps the end."""

    model: Seq2Seq
    validate: Validate
    plan: Plan
    settings: LoopSettings
    schedule: Schedule
    state: TrainState
    average: MovingAverage | None
    stop: Callable[[], bool]
    team: Team

    def __call__(self) -> Generator[Event, None, bool]:
        """The events; whether training ends here."""
        state = self.state
        if due := state.due:
            yield from validations(self.model, self.validate, self.plan, state, self.average)
        if due and not state.due:
            state.reductions += has_stalled(self.schedule, state)
            state.finished = is_over(self.plan, self.settings, state)
        # asked once: a signal between two answers would end without a save
        stopping = self.team.any(state.due or self.stop())
        if due or state.update % self.plan.save_every == 0 or stopping:
            yield Save(state.update)
        return state.finished or stopping


def is_over(plan: Plan, settings: LoopSettings, state: TrainState) -> bool:
    """Whether all updates are made and validated, or patience is out."""
    made = state.update >= plan.updates or 0 < settings.patience <= state.bad_validations
    return made and not state.due


def windows(batches: Iterator[Batch], size: int) -> Iterator[list[Batch]]:
    """The batches of each update; the last window of an epoch may have fewer."""
    while window := list(islice(batches, size)):
        yield window


def has_stalled(schedule: Schedule, state: TrainState) -> bool:
    """Whether this validation is one after which the schedule lowers the rate once more."""
    every = schedule.stalled_validations
    return every is not None and state.bad_validations > 0 and state.bad_validations % every == 0


def set_rate(optimizer: torch.optim.Optimizer, schedule: Schedule, plan: Plan, state: TrainState) -> None:
    """Gives the optimizer the learning rate of the next update."""
    epochs = state.epoch + state.position / plan.per_epoch
    moment = Moment(state.update + 1, epochs, plan.updates, state.reductions)
    for group in optimizer.param_groups:
        group["lr"] = optimizer.defaults["lr"] * schedule.factor(moment)


def count(made: Made, optimizer: torch.optim.Optimizer, state: TrainState) -> Step:
    """Takes an update into the state."""
    state.update += 1
    state.loss += made.loss
    state.correct += made.correct
    state.tokens += made.tokens
    state.gradient_norm += made.gradient_norm
    state.updates += 1
    lr = optimizer.param_groups[0]["lr"]
    mean = made.loss / made.tokens
    return Step(state.update, state.epoch, mean, made.tokens, made.gradient_norm, lr, made.parts)


def report(step: Step, state: TrainState) -> Report:
    """The means since the last report, which begin anew."""
    means = Report(
        step.update,
        step.epoch,
        state.loss / state.tokens,
        state.correct / state.tokens,
        state.gradient_norm / state.updates,
        step.lr,
        state.tokens,
    )
    state.loss, state.correct, state.tokens, state.gradient_norm, state.updates = 0.0, 0, 0, 0.0, 0
    return means


def validations(
    model: Seq2Seq, validate: Validate, plan: Plan, state: TrainState, average: MovingAverage | None
) -> Iterator[Validation]:
    """The one event of a validation, while the model has the parameters that were scored; none if stopped."""
    with average.applied(model) if average else contextlib.nullcontext():
        event = validation(model, validate, plan, state)
        if event is not None:
            yield event


def validation(model: Seq2Seq, validate: Validate, plan: Plan, state: TrainState) -> Validation | None:
    """Scores the dev data in evaluation mode, and goes back to training mode whatever happens."""
    model.eval()
    try:
        scores = validate()
    except ModelError as error:
        raise TrainingError(f"update {state.update}: {error}; {SMALLER}") from None
    finally:
        model.train()
    if scores is None:
        return None
    state.due, loss = False, scores.get("loss")
    improved = state.improved(scores[plan.select], higher_is_better=plan.higher_is_better, loss=loss)
    return Validation(state.update, state.epoch, scores, improved, state.best, state.bad_validations)
