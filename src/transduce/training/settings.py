"""The part of `train:` that the loop itself reads."""

from typing import Literal

from pydantic import Field

from transduce.config import Settings, Spec
from transduce.training.optimizers import OptimizerSettings
from transduce.training.sampling import ScheduledSampling
from transduce.training.schedules import Schedule


class LoopSettings(Settings):
    """How updates are made and when training ends."""

    optimizer: Spec[OptimizerSettings] = Spec(OptimizerSettings, "adam")
    schedule: Spec[Schedule] = Spec(Schedule, "constant")
    loss_average: Literal["tokens", "sentences"] = "tokens"  # what an update's summed loss is divided by
    accumulate: int = Field(default=1, ge=1)  # batches an update
    clip: float | None = Field(default=1.0, gt=0)  # greatest gradient norm
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    word_dropout: float = Field(default=0.0, ge=0, lt=1)  # symbols read as UNK
    r_drop: float = Field(default=0.0, ge=0)  # α: how much two passes with other dropout must agree
    guided_attention: float = Field(default=0.0, ge=0)  # λ: how much weights must agree with data.alignments
    scheduled_sampling: ScheduledSampling | None = None
    moving_average: float | None = Field(default=None, gt=0, lt=1)  # decay; dev scores and the best are of it
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    compile: bool = False
    patience: int = Field(default=10, ge=0)  # validations without a new best; 0 never stops early
