"""One update: forward, loss, backward, clip, step; in parts where memory does not suffice for the whole."""

import contextlib
import math
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from transduce.data.batch import Batch
from transduce.errors import TrainingError
from transduce.model import Seq2Seq
from transduce.training.averaging import MovingAverage
from transduce.training.distributed import ALONE, Team
from transduce.training.guidance import misalignment
from transduce.training.loss import Loss, agreement, cross_entropy
from transduce.training.noise import drop_words
from transduce.training.sampling import forward_sampled
from transduce.training.settings import LoopSettings
from transduce.training.state import TrainState
from transduce.types import Output, Source, move, select

SMALLER = "try a smaller train.optimizer.lr"
DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class Made(NamedTuple):
    """What one update was: sums over its target tokens, and the parts that it was made in."""

    loss: float
    correct: int
    tokens: int
    gradient_norm: float
    parts: int


class Learner:
    """Makes updates of a model. All losses of an update are divided by one count, whatever its parts."""

    def __init__(
        self,
        model: Seq2Seq,
        optimizer: torch.optim.Optimizer,
        settings: LoopSettings,
        state: TrainState,
        average: MovingAverage | None = None,
        team: Team = ALONE,
    ) -> None:
        self.model, self.optimizer, self.settings = model, optimizer, settings
        self.average, self.team = average, team
        self.forward: Callable[..., Output] = compiled(model) if settings.compile else model
        self.parameters = list(model.parameters())
        self.device = self.parameters[0].device
        self.sampling = settings.scheduled_sampling
        self.schedule = self.sampling and self.sampling.schedule.build()
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=settings.precision == "float16")
        if state.scaler:
            self.scaler.load_state_dict(state.scaler)

    def update(self, window: Sequence[Batch], state: TrainState) -> Made | None:
        """One step of the optimizer on all batches of `window`; None where they have no target token.

        Raises TrainingError where the gradient is not finite, before parameters are changed.
        """
        shares = [self.team.share(batch) for batch in window]
        real = [batch.target_mask for batch in shares]
        counts = sum(int(mask.sum()) for mask in real), sum(int(mask.any(dim=1).sum()) for mask in real)
        tokens, sentences = map(int, self.team.sum(counts))
        if not tokens:
            return None
        divisor = {"tokens": tokens, "sentences": sentences}[self.settings.loss_average]
        sums, parts = self._gradients(shares, divisor, state.update + 1)
        total, correct = self.team.sum(sums)
        self.team.add_gradients(self.parameters)
        norm = self._step(state.update + 1, total)
        state.scaler = self.scaler.state_dict()
        if self.average:
            self.average.update(self.model)
        return Made(total, int(correct), tokens, norm, parts)

    def _gradients(self, parts: list[Batch], divisor: int, update: int) -> tuple[list[float], int]:
        """The gradients of all parts, and the sums of their losses; halves the parts until they fit."""
        while True:
            self.optimizer.zero_grad(set_to_none=True)
            try:
                return self._accumulate(parts, divisor, update), len(parts)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                halved = [half for part in parts for half in halves(part)]
                if len(halved) == len(parts):
                    raise TrainingError(
                        f"update {update}: not enough memory for a pair by itself; use a smaller model, or "
                        f"data.max_source_length and data.max_target_length"
                    ) from None
            parts = halved  # here, where the error no longer holds on to what it failed with

    def _accumulate(self, parts: Sequence[Batch], divisor: int, update: int) -> list[float]:
        losses = []
        for part in parts:
            loss = self._loss(move(part, self.device), update)
            self.scaler.scale(loss.total / divisor).backward()
            losses.append(torch.stack([loss.total.detach().double(), loss.correct.double()]))
        return torch.stack(losses).sum(dim=0).tolist()

    def _loss(self, batch: Batch, update: int) -> Loss:
        batch = drop_words(batch, self.settings.word_dropout)
        output = self._predict(batch, update)
        loss = self._loss_of(output, batch)
        if not self.settings.r_drop:
            return loss
        again = self._predict(batch, update)
        other = self._loss_of(again, batch)
        apart = agreement(output.log_probs, again.log_probs, batch.target_mask)
        return loss._replace(total=(loss.total + other.total + self.settings.r_drop * apart) / 2)

    def _loss_of(self, output: Output, batch: Batch) -> Loss:
        """What one pass costs: wrong symbols, and looking elsewhere than its alignments say."""
        smoothing, guided = self.settings.label_smoothing, self.settings.guided_attention
        loss = cross_entropy(output.log_probs, batch.target, batch.target_mask, smoothing)
        if output.weights is None or batch.alignment is None:
            return loss
        apart = misalignment(output.weights, batch.alignment, batch.target_mask)
        return loss._replace(total=loss.total + guided * apart)

    def _predict(self, batch: Batch, update: int) -> Output:
        """The outputs that are learnt from: after the true prefixes, or after partly the model's own."""
        dtype, weights = DTYPES.get(self.settings.precision), self.settings.guided_attention > 0
        with torch.autocast(self.device.type, dtype) if dtype else contextlib.nullcontext():
            if self.sampling and self.schedule:
                truth, take = self.schedule.truth(update), self.sampling.take
                output = forward_sampled(self.model, batch.source, batch.inputs, truth, take, weights=weights)
            else:
                output = self.forward(batch.source, batch.inputs, weights=weights)
        return in_full(output) if dtype else output

    def _step(self, update: int, total: float) -> float:
        """Unscales, clips, and moves the parameters; the norm before clipping."""
        self.scaler.unscale_(self.optimizer)
        limit = float("inf") if self.settings.clip is None else self.settings.clip
        norm = nn.utils.clip_grad_norm_(self.parameters, limit).item()
        wrong = [name for name, value in (("gradient", norm), ("loss", total)) if not math.isfinite(value)]
        if wrong and not self.scaler.is_enabled():
            raise TrainingError(
                f"update {update}: the {wrong[0]} is not finite (loss {total:.4g}); {SMALLER}"
            )
        self.scaler.step(self.optimizer)  # which leaves a step out where float16 has overflowed
        self.scaler.update()
        return norm


def in_full(output: Output) -> Output:
    """The output in float32, in which losses are summed."""
    weights = output.weights
    return Output(output.log_probs.float(), weights if weights is None else weights.float())


def halves(batch: Batch) -> list[Batch]:
    """The batch in two, or as it is where it has one row."""
    rows = torch.arange(len(batch.target))
    return [select(batch, half) for half in rows.tensor_split(2)] if len(rows) > 1 else [batch]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory was lacking, on a device or on the host."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "allocate memory" in str(error)


def compiled(model: Seq2Seq) -> Callable[..., Output]:
    """The model compiled, or, from where it cannot be, as it is and one warning."""
    from torch._dynamo.exc import TorchDynamoException  # what any failure of the compiler is

    chosen: list[Callable[..., Output]] = [torch.compile(model)]

    def forward(source: Source, tokens: Int[Tensor, "B T"], *, weights: bool = False) -> Output:
        try:
            return chosen[-1](source, tokens, weights=weights)
        except TorchDynamoException as error:
            reason = str(error).split("\n")[0]
            warnings.warn(
                f"train.compile: going on without, the model cannot be compiled: {reason}", stacklevel=2
            )
            chosen.append(model)
            return model(source, tokens, weights=weights)

    return forward
