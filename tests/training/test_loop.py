"""The training loop: its events, and what it decides."""

import copy
import math
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from transduce.config import validate
from transduce.data.batch import Batch, pair_batch
from transduce.data.index import Index, Ragged
from transduce.errors import ModelError, TrainingError
from transduce.model import ModelSettings, Seq2Seq
from transduce.training.loop import Event, Plan, Report, Save, Step, Validation, train
from transduce.training.settings import LoopSettings
from transduce.training.state import TrainState
from transduce.types import Output

INDEX = Index(
    Ragged.of([[4, 5], [6], [5, 5, 4], [7, 4], [6, 6], [4]]),
    Ragged.of([[4], [5, 6], [7], [4, 4, 4], [], [6, 5]]),
)
PLAN = Plan(
    updates=6,
    validate_every=3,
    save_every=3,
    report_every=2,
    per_epoch=3,
    select="value",
    higher_is_better=True,
)


def model(dropout: float = 0.0, seed: int = 1) -> Seq2Seq:
    torch.manual_seed(seed)
    options = {"width": 6, "dropout": dropout}
    return validate(ModelSettings, {"encoder": options, "decoder": options}, "test").build(8, 8)


def batches(epoch: int, position: int) -> Iterator[Batch]:
    """Three batches an epoch."""
    for start in (0, 2, 4)[position:]:
        yield pair_batch(INDEX, [start, start + 1], source_eos=True)


def events(
    network: Seq2Seq | None = None,
    *,
    plan: Plan = PLAN,
    state: TrainState | None = None,
    source: Callable[[int, int], Iterator[Batch]] = batches,
    scores: Callable[[], Any] = lambda: {"value": 0.0},
    stop: Callable[[], bool] = lambda: False,
    lr: float = 0.1,
    **settings: Any,
) -> Iterator[Event]:
    network = network or model()
    optimizer = torch.optim.SGD(network.parameters(), lr=lr)
    options = validate(LoopSettings, settings, "test")
    return train(network, optimizer, source, scores, options, plan, state or TrainState(), stop)


def names(found: Iterator[Event]) -> list[str]:
    return [f"{type(event).__name__.lower()} {event.update}" for event in found]


def values(module: nn.Module) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in module.parameters()]


def test_events_come_in_order():
    assert names(events(plan=PLAN._replace(save_every=2))) == [
        "step 1",
        *("step 2", "report 2", "save 2"),
        *("step 3", "validation 3", "save 3"),
        *("step 4", "report 4", "save 4"),
        "step 5",
        *("step 6", "report 6", "validation 6", "save 6"),
    ]


def test_the_end_is_validated_and_saved_whenever_it_comes():
    found = names(events(plan=PLAN._replace(updates=4, report_every=9)))
    assert found == [
        *("step 1", "step 2", "step 3", "validation 3", "save 3"),
        "step 4",
        "validation 4",
        "save 4",
    ]


@pytest.mark.parametrize("stopped", [3, 6])
def test_a_validation_that_is_stopped_is_saved_as_due_and_made_first_when_going_on(stopped):
    state, validated = TrainState(), []

    def scores(interrupted: bool) -> dict[str, float] | None:
        validated.append(state.update)
        return None if interrupted and state.update == stopped else {"value": 1.0}

    network = model()
    first = names(events(network, state=state, scores=lambda: scores(True)))
    assert first[-2:] == [f"step {stopped}", f"save {stopped}"] or first[-1] == f"save {stopped}"
    assert f"validation {stopped}" not in first
    assert (state.due, state.finished) == (True, False)
    going_on = TrainState.of(state.plain())
    rest = names(events(network, state=going_on, scores=lambda: scores(False)))
    assert rest[:2] == [f"validation {stopped}", f"save {stopped}"]
    assert (going_on.due, going_on.finished, going_on.update) == (False, True, 6)
    assert [name for name in first + rest if "save" not in name] == [
        name for name in names(events()) if "save" not in name
    ]


def test_epochs_follow_each_other_and_positions_are_kept():
    state, asked = TrainState(), []

    def source(epoch: int, position: int) -> Iterator[Batch]:
        asked.append((epoch, position))
        return batches(epoch, position)

    found = [event for event in events(state=state, source=source) if isinstance(event, Step)]
    assert [event.epoch for event in found] == [0, 0, 0, 1, 1, 1]
    assert asked == [(0, 0), (1, 0)]
    assert (state.update, state.epoch, state.position, state.finished) == (6, 1, 3, True)
    assert [event.tokens for event in found] == [5, 6, 4, 5, 6, 4]  # EOS in, padding out


def test_it_goes_on_where_the_state_stands():
    asked, state = [], TrainState(update=4, epoch=1, position=1)

    def source(epoch: int, position: int) -> Iterator[Batch]:
        asked.append((epoch, position))
        return batches(epoch, position)

    assert names(events(state=state, source=source)) == [
        "step 5",
        "step 6",
        "report 6",
        "validation 6",
        "save 6",
    ]
    assert asked == [(1, 1)]
    assert names(events(state=TrainState(update=6, finished=True))) == []


def test_one_step_is_sgd_on_the_mean_over_real_tokens():
    network = model()
    expected, batch = copy.deepcopy(network), next(batches(0, 0))
    real = batch.target_mask
    log_probs = expected(batch.source, batch.inputs).log_probs[real]
    mean = nn.functional.nll_loss(log_probs, batch.target[real])
    mean.backward()
    step = next(events(network, clip=None))
    assert step.loss == pytest.approx(mean.item(), abs=1e-6)
    assert (step.update, step.lr) == (1, 0.1)
    for parameter, before in zip(network.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(parameter, before - 0.1 * before.grad)


@pytest.mark.parametrize("clip", [1e-3, 0.05, None, 1e9])
def test_the_gradient_is_clipped_and_its_norm_told_from_before(clip):
    network = model()
    before = values(network)
    step = next(events(network, clip=clip, lr=1.0))
    moved = torch.cat([(a - b).flatten() for a, b in zip(values(network), before, strict=True)]).norm().item()
    assert step.gradient_norm > 0.1
    assert moved == pytest.approx(min(clip or math.inf, step.gradient_norm), rel=1e-3)


def test_label_smoothing_reaches_the_loss():
    smooth, plain = (next(events(label_smoothing=epsilon)).loss for epsilon in (0.5, 0.0))
    assert smooth != plain


def test_TRN_05_reports_weigh_tokens_and_begin_anew():
    steps: list[Step] = []
    for event in events(state=(state := TrainState())):
        if isinstance(event, Step):
            steps.append(event)
        if isinstance(event, Report):
            tokens = sum(step.tokens for step in steps)
            assert event.loss == pytest.approx(sum(step.loss * step.tokens for step in steps) / tokens)
            assert 0 <= event.teacher_forced_accuracy <= 1
            assert (state.loss, state.correct, state.tokens, state.gradient_norm) == (0.0, 0, 0, 0.0)
            steps.clear()


class Constant(Seq2Seq):
    """Always thinks that the next token is 3, with probability 0.7."""

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.zero = nn.Parameter(torch.zeros(()))

    def forward(self, source: Any, tokens: Tensor, *, weights: bool = False) -> Output:
        log_probs = torch.tensor([0.1, 0.1, 0.1, 0.7]).log().expand(*tokens.shape, 4)
        return Output(log_probs + self.zero, None)


def constant_batches(epoch: int, position: int) -> Iterator[Batch]:
    """32 tokens that `Constant` gets right, then 8 that it gets wrong."""
    source = next(batches(0, 0)).source
    for count, token in ((32, 3), (8, 2)):
        target = torch.full((2, count // 2), token)
        yield Batch(source, target, target, torch.ones_like(target, dtype=torch.bool))


def test_TRN_05_accuracy_is_08_not_05():
    plan = PLAN._replace(updates=2, report_every=2)
    (report,) = (
        e for e in events(Constant(), plan=plan, source=constant_batches, lr=0.0) if isinstance(e, Report)
    )
    assert report.teacher_forced_accuracy == 0.8
    assert report.loss == pytest.approx(-(32 * math.log(0.7) + 8 * math.log(0.1)) / 40, abs=1e-6)


def scripted(values: list[int]) -> Callable[[], Any]:
    script = iter(map(float, values))
    return lambda: {"value": next(script)}


@pytest.mark.parametrize(("patience", "validations"), [(3, 8), (0, 9), (2, 7), (1, 2), (9, 9)])
def test_TRN_10_patience_counts_validations_since_the_best(patience, validations):
    plan = Plan(9, 1, 100, 100, 3, "value", higher_is_better=False)
    state = TrainState()
    scores = scripted([5, 6, 4, 5, 3, 4, 4, 4, 2])
    found = [
        e
        for e in events(plan=plan, state=state, scores=scores, patience=patience)
        if isinstance(e, Validation)
    ]
    assert len(found) == validations
    assert state.finished
    if validations == 8:
        assert (state.best, state.best_update) == (3, 5)
        assert [event.improved for event in found] == [True, False, True, False, True, False, False, False]
        assert [event.bad_validations for event in found] == [0, 1, 0, 1, 0, 1, 2, 3]


def test_an_early_end_is_saved():
    plan = Plan(9, 1, 100, 100, 3, "value", higher_is_better=True)
    assert names(events(plan=plan, patience=1))[-3:] == ["step 2", "validation 2", "save 2"]


def test_a_wish_to_stop_is_granted_after_the_update_and_a_save():
    state, asked = TrainState(), iter([False, True])
    assert names(events(state=state, stop=lambda: next(asked))) == ["step 1", "step 2", "report 2", "save 2"]
    assert (state.update, state.position, state.finished) == (2, 2, False)


def test_stopping_and_going_on_is_the_unbroken_run():
    whole, broken = model(0.3), model(0.3)
    torch.manual_seed(5)
    expected = [event for event in events(whole) if not isinstance(event, Save)]
    torch.manual_seed(5)
    state, found = TrainState(), []
    while not state.finished:  # one update at a time; plain SGD has no state of its own
        found += [
            event for event in events(broken, state=state, stop=lambda: True) if not isinstance(event, Save)
        ]
    assert found == expected
    assert all(map(torch.equal, values(broken), values(whole)))


@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_ends_training_before_it_does_harm(poison):
    network = model()
    network.decoder.output.bias.data[3] = poison
    before = values(network)
    state = TrainState()
    with pytest.raises(
        TrainingError, match=r"update 1: the gradient is not finite \(loss nan\); .*optimizer.lr"
    ):
        next(events(network, state=state))
    assert all(
        torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(values(network), before, strict=True)
    )
    assert state.update == 0


def test_a_batch_without_a_real_target_is_skipped():
    network, state = model(), TrainState()

    def source(epoch: int, position: int) -> Iterator[Batch]:
        for number, batch in enumerate(batches(epoch, 0)):
            empty = batch._replace(target_mask=torch.zeros_like(batch.target_mask))
            yield empty if number == 1 else batch

    before: list[Tensor] = []
    for event in events(network, state=state, source=source):
        if isinstance(event, Step) and event.update == 1:
            before = values(network)
        if isinstance(event, Step) and event.update == 2:
            assert (state.position, state.epoch) == (3, 0)
            assert not all(map(torch.equal, values(network), before))
    assert (state.update, state.skipped) == (6, 3)  # one of three batches, in three epochs


@pytest.mark.parametrize("fault", [None, RuntimeError])
def test_BAT_13_validation_evaluates_and_training_trains(fault):
    network, seen = model(0.5), []

    def scores() -> dict[str, float]:
        seen.append(network.training)
        if fault:
            raise fault
        return {"value": 0.0}

    found = events(network.eval(), scores=scores)
    try:
        for event in found:
            assert network.training, event
    except RuntimeError:
        assert fault
    assert network.training
    assert seen == ([False] if fault else [False, False])


def test_scores_reach_the_event_as_they_are():
    scores = MappingProxyType({"value": 0.25, "other": 3.0})
    (event, *_) = (e for e in events(scores=lambda: scores) if isinstance(e, Validation))
    assert event.scores == {"value": 0.25, "other": 3.0}
    assert (event.update, event.epoch, event.improved, event.best) == (3, 0, True, 0.25)


@pytest.mark.parametrize("schedule", ["constant", "plateau", "inverse_sqrt", "halving", "cosine", "noam"])
def test_TRN_08_patience_is_kept_under_every_schedule(schedule: str) -> None:
    """Dev scores 10, 12, 11, 11.5, 11.9: stops after the fifth, the best was the second."""
    scripted = map(float, [10, 12, 11, 11.5, 11.9, 11, 10, 9])
    state = TrainState()
    plan = PLAN._replace(updates=80, validate_every=1)
    found = events(
        plan=plan, state=state, scores=lambda: {"value": next(scripted)}, patience=3, schedule=schedule
    )
    validations = [event for event in found if isinstance(event, Validation)]
    assert (len(validations), state.best, state.best_update) == (5, 12, 2)


@pytest.mark.parametrize(("patience", "count"), [(3, 8), (0, 9)])
def test_TRN_10_patience_starts_anew_after_an_improvement(patience: int, count: int) -> None:
    scripted = map(float, [5, 6, 4, 5, 3, 4, 4, 4, 2])
    state = TrainState()
    plan = PLAN._replace(updates=9, validate_every=1, higher_is_better=False)
    found = events(plan=plan, state=state, scores=lambda: {"value": next(scripted)}, patience=patience)
    assert len([event for event in found if isinstance(event, Validation)]) == count
    assert state.best_update == (5 if patience else 9)


def test_TRN_12_the_rate_moves_with_each_update() -> None:
    plan = PLAN._replace(updates=16, validate_every=100)
    schedule = {"name": "inverse_sqrt", "warmup": 4}
    found = [e for e in events(plan=plan, lr=0.001, schedule=schedule) if isinstance(e, Step)]
    wanted = {1: 0.00025, 2: 0.0005, 3: 0.00075, 4: 0.001, 5: 0.000894427, 7: 0.000755929, 8: 0.000707107}
    for update, rate in (wanted | {16: 0.0005}).items():
        assert found[update - 1].lr == pytest.approx(rate, abs=1e-9)


def test_a_plateau_lowers_the_rate_after_stalled_validations() -> None:
    scripted = iter([5.0, 4.0, 4.0, 6.0, 4.0, 4.0, 4.0, 4.0])
    plan = PLAN._replace(updates=8, validate_every=1)
    schedule = {"name": "plateau", "patience": 2, "decay": 0.5}
    found = events(
        plan=plan, lr=1e-3, scores=lambda: {"value": next(scripted)}, patience=0, schedule=schedule
    )
    rates = [event.lr / 1e-3 for event in found if isinstance(event, Step)]
    assert rates == pytest.approx([1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25])


def test_the_loss_may_be_averaged_over_sentences() -> None:
    """The SGD papers divide by sentences: a larger gradient by tokens per sentence."""
    norms = {}
    for average in ("tokens", "sentences"):
        network = model()
        (step, *_) = events(network, loss_average=average, clip=None, lr=0.0)
        norms[average] = step.gradient_norm * {"tokens": step.tokens, "sentences": 2}[average]
    assert norms["tokens"] == pytest.approx(norms["sentences"], rel=1e-5)


def test_a_model_that_cannot_be_validated_ends_training_with_a_hint():
    def scores() -> dict[str, float]:
        raise ModelError("search: no hypothesis")

    network = model()
    with pytest.raises(
        TrainingError, match=r"update 3: search: no hypothesis; try a smaller train\.optimizer\.lr"
    ):
        list(events(network, scores=scores))
    assert network.training
