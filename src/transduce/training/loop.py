"""The one training loop: a generator of events, which progress bars, logs and saves consume."""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

import torch
from pydantic import Field
from torch import nn

from transduce.config import Settings, Spec
from transduce.data.batch import Batch
from transduce.errors import ModelError, TrainingError
from transduce.model import Seq2Seq
from transduce.training.loss import cross_entropy
from transduce.training.optimizers import OptimizerSettings
from transduce.training.sampling import ScheduledSampling, forward_sampled
from transduce.training.schedules import Moment, Schedule
from transduce.training.state import TrainState
from transduce.types import Output

Batches = Callable[[int, int], Iterator[Batch]]  # (epoch, position) to the rest of that epoch
Validate = Callable[[], Mapping[str, float]]

SMALLER = "try a smaller train.optimizer.lr"


class LoopSettings(Settings):
    """The part of `train:` that the loop itself reads."""

    optimizer: Spec[OptimizerSettings] = Spec(OptimizerSettings, "adam")
    schedule: Spec[Schedule] = Spec(Schedule, "constant")
    loss_average: Literal["tokens", "sentences"] = "tokens"  # what an update's summed loss is divided by
    clip: float | None = Field(default=1.0, gt=0)  # greatest gradient norm
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    scheduled_sampling: ScheduledSampling | None = None
    patience: int = Field(default=10, ge=0)  # validations without a new best; 0 never stops early


class Plan(NamedTuple):
    """How long, how often, and what is best; all counts are of updates."""

    updates: int
    validate_every: int
    save_every: int
    report_every: int
    per_epoch: int
    select: str
    higher_is_better: bool


class Step(NamedTuple):
    """One update: mean loss over its real target tokens (natural log), gradient norm before clipping."""

    update: int
    epoch: int
    loss: float
    tokens: int
    gradient_norm: float
    lr: float


class Report(NamedTuple):
    """Means over all target tokens since the last report."""

    update: int
    epoch: int
    loss: float
    teacher_forced_accuracy: float
    lr: float


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
) -> Iterator[Event]:
    """Trains until the plan is done, patience is out, or `stop()`; `state` says where it stands.

    A validation happens every `validate_every` updates and at the end. Raises TrainingError where the
    loss is not finite, before parameters are changed.
    """
    model.train()
    schedule = settings.schedule.build()
    while not state.finished:
        for batch in batches(state.epoch, state.position):
            set_rate(optimizer, schedule, plan, state)
            step = update(model, optimizer, batch, settings, state)
            state.position += 1
            if step is None:
                state.skipped += 1
                continue
            yield step
            if state.update % plan.report_every == 0:
                yield report(step, state)
            ended = state.update >= plan.updates
            due = state.update % plan.validate_every == 0 or ended
            if due:
                yield validation(model, validate, plan, state)
                state.reductions += has_stalled(schedule, state)
                state.finished = ended or 0 < settings.patience <= state.bad_validations
            stopping = stop()  # asked once: a signal between two answers would end without a save
            if due or state.update % plan.save_every == 0 or stopping:
                yield Save(state.update)
            if state.finished or stopping:
                return
        state.epoch, state.position = state.epoch + 1, 0


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


def update(
    model: Seq2Seq,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    settings: LoopSettings,
    state: TrainState,
) -> Step | None:
    """One step of the optimizer on the loss per token or sentence; None for a batch without a token."""
    if not batch.target_mask.any():
        return None
    output = predict(model, batch, settings.scheduled_sampling, state.update + 1)
    loss = cross_entropy(output.log_probs, batch.target, batch.target_mask, settings.label_smoothing)
    optimizer.zero_grad(set_to_none=True)
    (loss.total / {"tokens": loss.tokens, "sentences": len(batch.target)}[settings.loss_average]).backward()
    limit = float("inf") if settings.clip is None else settings.clip
    norm = nn.utils.clip_grad_norm_(model.parameters(), limit)
    if not norm.isfinite():
        raise TrainingError(
            f"update {state.update + 1}: the gradient is not finite (loss {loss.total.item():.4g}); {SMALLER}"
        )
    optimizer.step()
    state.update += 1
    state.loss += loss.total.item()
    state.correct += int(loss.correct)
    state.tokens += loss.tokens
    lr = optimizer.param_groups[0]["lr"]
    return Step(state.update, state.epoch, loss.total.item() / loss.tokens, loss.tokens, norm.item(), lr)


def predict(model: Seq2Seq, batch: Batch, sampling: ScheduledSampling | None, update: int) -> Output:
    """The outputs that an update learns from: after the true prefixes, or after partly the model's own."""
    if sampling is None:
        return model(batch.source, batch.inputs)
    truth = sampling.schedule.build().truth(update)
    return forward_sampled(model, batch.source, batch.inputs, truth, sampling.take)


def report(step: Step, state: TrainState) -> Report:
    """The means since the last report, which begin anew."""
    means = Report(step.update, step.epoch, state.loss / state.tokens, state.correct / state.tokens, step.lr)
    state.loss, state.correct, state.tokens = 0.0, 0, 0
    return means


def validation(model: Seq2Seq, validate: Validate, plan: Plan, state: TrainState) -> Validation:
    """Scores the dev data in evaluation mode, and goes back to training mode whatever happens."""
    model.eval()
    try:
        scores = validate()
    except ModelError as error:
        raise TrainingError(f"update {state.update}: {error}; {SMALLER}") from None
    finally:
        model.train()
    loss = scores.get("loss")
    improved = state.improved(scores[plan.select], higher_is_better=plan.higher_is_better, loss=loss)
    return Validation(state.update, state.epoch, scores, improved, state.best, state.bad_validations)
