"""One update, however it is made: in parts, in halves, in another precision, by an average."""

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.exc import TorchDynamoException

from transduce.config import validate
from transduce.data.batch import Batch, pair_batch
from transduce.data.index import Index, Ragged
from transduce.errors import TrainingError
from transduce.model import ModelSettings, Seq2Seq
from transduce.training import learner as learner_module
from transduce.training.averaging import MovingAverage
from transduce.training.learner import Learner, halves
from transduce.training.loss import agreement
from transduce.training.noise import drop_words
from transduce.training.settings import LoopSettings
from transduce.training.state import TrainState
from transduce.types import BOS, EOS, PAD, UNK, Output

INDEX = Index(
    Ragged.of([[4, 5], [6], [5, 5, 4], [7, 4], [6, 6], [4]]),
    Ragged.of([[4], [5, 6], [7], [4, 4, 4], [5], [6, 5]]),
)


def model(dropout: float = 0.0) -> Seq2Seq:
    torch.manual_seed(1)
    options = {"width": 6, "dropout": dropout}
    return validate(ModelSettings, {"encoder": options, "decoder": options}, "test").build(8, 8).train()


def batch(*rows: int) -> Batch:
    return pair_batch(INDEX, rows, source_eos=True)


def learner(
    network: Seq2Seq, average: MovingAverage | None = None, lr: float = 1.0, **settings: Any
) -> Learner:
    optimizer = torch.optim.SGD(network.parameters(), lr=lr)
    return Learner(network, optimizer, validate(LoopSettings, settings, "test"), TrainState(), average)


def values(module: nn.Module) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in module.parameters()]


def same(first: nn.Module, second: nn.Module, tolerance: float = 1e-6) -> None:
    for ours, theirs in zip(values(first), values(second), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


class Sums(Seq2Seq):
    """Two micro-batches whose losses sum to 2 over 2 tokens and 18 over 6."""

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, source: Any, tokens: Tensor, *, weights: bool = False) -> Any:
        each = {2: 1.0, 6: 3.0}[tokens.shape[1]]
        log_probs = torch.full((*tokens.shape, 8), -each) * self.scale
        return Output(log_probs, None)


def test_TRN_02_the_loss_is_of_all_tokens_not_a_mean_of_means() -> None:
    source = batch(0).source
    windows = [
        Batch(source, ids, ids, torch.ones_like(ids, dtype=torch.bool))
        for ids in (torch.full((1, n), 4) for n in (2, 6))
    ]
    network = Sums()
    made = learner(network, lr=0.0, clip=None).update(windows, TrainState())
    assert made.loss / made.tokens == 2.5
    assert network.scale.grad.item() == pytest.approx(2.5)


@pytest.mark.parametrize("average", ["tokens", "sentences"])
@pytest.mark.parametrize("clip", [None, 0.01])
@pytest.mark.parametrize(
    "parts", [[(0, 1, 2), (3, 4, 5)], [(0,), (1, 2, 3, 4, 5)], [(0, 1), (2, 3), (4,), (5,)]]
)
def test_TRN_02_accumulated_batches_are_one_batch(parts: list, clip: float | None, average: str) -> None:
    whole, split = model(), model()
    settings = {"clip": clip, "loss_average": average}
    first = learner(whole, **settings).update([batch(*range(6))], TrainState())
    second = learner(split, **settings).update([batch(*part) for part in parts], TrainState())
    assert second.loss == pytest.approx(first.loss, rel=1e-6)
    assert second.gradient_norm == pytest.approx(first.gradient_norm, rel=1e-5)
    assert (second.tokens, second.correct, second.parts) == (first.tokens, first.correct, len(parts))
    same(whole, split)


def failing(network: Seq2Seq, fails: Callable[[int, Tensor], bool], error: Exception) -> None:
    """Makes the decoder fail after it has computed, at calls and batches that `fails` says."""
    forward, calls = network.decoder.forward, iter(range(10**6))

    def wrapped(source: Any, encoded: Any, tokens: Tensor, **options: Any) -> Any:
        output = forward(source, encoded, tokens, **options)
        if fails(next(calls), tokens):
            raise error
        return output

    network.decoder.forward = wrapped


ERRORS = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    MemoryError(),
    RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_TRN_13_a_batch_too_large_for_memory_is_halved_and_the_gradient_is_whole(error: Exception) -> None:
    whole, halved = model(), model()
    failing(halved, lambda call, tokens: len(tokens) > 2, error)
    first = learner(whole).update([batch(*range(6))], TrainState())
    second = learner(halved).update([batch(*range(6))], TrainState())
    assert (first.parts, second.parts) == (1, 4)  # 6 → 3 + 3 → 2 + 1 + 2 + 1
    assert second.loss == pytest.approx(first.loss, rel=1e-6)
    same(whole, halved)


def test_TRN_13_what_failed_half_way_leaves_no_gradient_behind() -> None:
    whole, halved = model(), model()
    failing(halved, lambda call, tokens: call == 1, ERRORS[0])  # the first part's gradient is there by then
    parts = [batch(0, 1, 2), batch(3, 4, 5)]
    learner(whole).update(parts, TrainState())
    assert learner(halved).update(parts, TrainState()).parts == 4
    same(whole, halved)


def test_TRN_13_a_pair_that_does_not_fit_by_itself_ends_training_with_a_hint() -> None:
    network = model()
    failing(network, lambda call, tokens: True, ERRORS[0])
    before = values(network)
    with pytest.raises(
        TrainingError, match=r"update 5: not enough memory for a pair by itself; .*max_source_length"
    ):
        learner(network).update([batch(*range(6))], TrainState(update=4))
    assert all(map(torch.equal, values(network), before))


def test_another_error_is_not_taken_for_want_of_memory() -> None:
    network = model()
    failing(network, lambda call, tokens: True, RuntimeError("shapes do not fit"))
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        learner(network).update([batch(0, 1)], TrainState())


def test_halves_are_all_rows_once() -> None:
    given = batch(*range(5))
    first, second = halves(given)
    assert torch.cat([first.target, second.target]).equal(given.target)
    assert halves(batch(3))[0].target.equal(batch(3).target)


def test_dropped_words_are_read_as_unknown_and_still_written() -> None:
    torch.manual_seed(0)
    given = batch(*range(6))
    noisy = drop_words(given, 0.5)
    for before, after in ((given.source.tokens, noisy.source.tokens), (given.inputs, noisy.inputs)):
        special = (before == PAD) | (before == BOS) | (before == EOS)
        assert after[special].equal(before[special])
        assert set(after[after != before].tolist()) == {UNK}
        assert 0.1 < (after[~special] == UNK).float().mean() < 0.9
    assert noisy.target.equal(given.target)
    assert drop_words(given, 0.0) is given
    network = model()
    plain, dropped = (
        learner(network, lr=0.0, word_dropout=p).update([given], TrainState()) for p in (0.0, 0.9)
    )
    assert plain.loss != dropped.loss


def test_r_drop_is_the_papers_loss_halved() -> None:
    network, given = model(0.4), batch(*range(6))
    torch.manual_seed(3)
    first, second = (network(given.source, given.inputs).log_probs for _ in range(2))
    torch.manual_seed(3)
    made = learner(network, lr=0.0, r_drop=2.0).update([given], TrainState())
    real, losses = given.target_mask, []
    for log_probs in (first, second):
        losses.append(nn.functional.nll_loss(log_probs[real], given.target[real], reduction="sum"))
    divergences = [
        nn.functional.kl_div(q[real], p[real], log_target=True, reduction="sum")
        for p, q in ((first, second), (second, first))
    ]
    expected = (sum(losses) + 2.0 * sum(divergences) / 2) / 2
    assert made.loss == pytest.approx(expected.item(), rel=1e-5)
    assert agreement(first, second, real).item() == pytest.approx(sum(divergences).item() / 2, rel=1e-4)
    assert agreement(first, first, real).item() == 0


def test_a_moving_average_follows_the_parameters() -> None:
    network = model()
    average = MovingAverage(network, 0.75)
    expected, teacher = values(network), learner(network, average)
    for _ in range(3):
        teacher.update([batch(0, 1, 2)], TrainState())
        expected = [0.75 * old + 0.25 * new for old, new in zip(expected, values(network), strict=True)]
    own = values(network)
    with average.applied(network):
        for found, wanted in zip(values(network), expected, strict=True):
            torch.testing.assert_close(found, wanted)
    assert all(map(torch.equal, values(network), own))


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_lower_precision_is_near_and_clips_unscaled_gradients(precision: str) -> None:
    exact, rough = model(), model()
    first = learner(exact, clip=0.1).update([batch(*range(6))], TrainState())
    state = TrainState()
    second = learner(rough, clip=0.1, precision=precision).update([batch(*range(6))], state)
    assert second.loss == pytest.approx(first.loss, rel=0.02)
    assert second.loss != first.loss
    assert second.gradient_norm == pytest.approx(first.gradient_norm, rel=0.1)
    same(exact, rough, tolerance=0.02)
    assert bool(state.scaler) == (precision == "float16")


def test_the_scale_of_float16_gradients_goes_on_where_it_stood() -> None:
    network, state = model(), TrainState()
    teacher = learner(network, precision="float16")
    teacher.scaler.load_state_dict({**teacher.scaler.state_dict(), "scale": 1024.0})
    teacher.update([batch(0, 1)], state)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    again = Learner(network, optimizer, validate(LoopSettings, {"precision": "float16"}, "test"), state)
    assert again.scaler.get_scale() == teacher.scaler.get_scale() == 1024.0


def test_a_float16_overflow_leaves_the_step_out_and_lowers_the_scale() -> None:
    network, state = model(), TrainState()
    teacher = learner(network, precision="float16")
    teacher.scaler.load_state_dict({**teacher.scaler.state_dict(), "scale": 2.0**120})
    before = values(network)
    teacher.update([batch(0, 1)], state)
    assert all(map(torch.equal, values(network), before))
    assert teacher.scaler.get_scale() < 2.0**120


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Stands for torch's compiler: fails, or counts calls."""
    calls: list[int] = []

    def compile_(module: Seq2Seq) -> Callable[..., Any]:
        def quick(*arguments: Any, **options: Any) -> Any:
            calls.append(1)
            if calls[0] == -1:
                raise TorchDynamoException("no C++ compiler\nand a long story")
            return module(*arguments, **options)

        return quick

    monkeypatch.setattr(learner_module.torch, "compile", compile_)
    return calls


def test_a_model_is_compiled_where_it_can_be(compiler: list[int]) -> None:
    plain, quick = model(), model()
    learner(plain).update([batch(0, 1)], TrainState())
    teacher = learner(quick, compile=True)
    for _ in range(2):
        made = teacher.update([batch(0, 1)], TrainState())
    assert len(compiler) == 2
    assert made is not None


def test_a_model_that_cannot_be_compiled_goes_on_with_one_warning(compiler: list[int]) -> None:
    compiler.append(-1)
    plain, slow = model(), model()
    first, second = learner(plain), learner(slow, compile=True)
    with pytest.warns(UserWarning, match="train.compile: going on without, .*: no C\\+\\+ compiler$"):
        second.update([batch(0, 1)], TrainState())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second.update([batch(2, 3)], TrainState())
    for rows in ((0, 1), (2, 3)):
        first.update([batch(*rows)], TrainState())
    same(plain, slow)
    assert copy.deepcopy(compiler) == [-1, 1]


def test_a_fault_of_the_model_is_not_taken_for_one_of_the_compiler(compiler: list[int]) -> None:
    network = model()
    failing(network, lambda call, tokens: True, RuntimeError("shapes do not fit"))
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        learner(network, compile=True).update([batch(0, 1)], TrainState())
