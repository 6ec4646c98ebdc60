"""How parameters start."""

import math
from abc import ABC, abstractmethod

from torch import nn

from transduce.config import Component


class Initializer(Component, ABC):
    """Sets every parameter of a model before training."""

    @abstractmethod
    def __call__(self, model: nn.Module) -> None: ...


class DefaultInitializer(Initializer, name="default"):
    """PyTorch's own: recurrent and linear layers uniform in ±1/√width, embeddings N(0, 1)."""

    def __call__(self, model: nn.Module) -> None:
        pass


class LecunNormalInitializer(Initializer, name="lecun_normal"):
    """Flax's: embeddings N(0, 1/width), kernels LeCun normal, recurrent kernels orthogonal, biases 0.

    A recurrent kernel of all gates is orthogonal as one matrix, as `nnx.GRUCell` makes it. Kernels are
    drawn from a normal cut at two standard deviations with variance 1/fan_in (LeCun et al. 1998).
    """

    def __call__(self, model: nn.Module) -> None:
        for name, parameter in model.named_parameters():
            if name.endswith("table.weight"):
                nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
                parameter.data[0] = 0.0  # PAD
            elif "weight_hh" in name:
                nn.init.orthogonal_(parameter)
            elif parameter.dim() == 2:
                lecun_normal_(parameter)
            else:
                nn.init.zeros_(parameter)


def lecun_normal_(parameter: nn.Parameter) -> None:
    """Truncated normal whose standard deviation, after truncation, is 1/√fan_in."""
    std = math.sqrt(1.0 / parameter.shape[1]) / 0.87962566103423978
    nn.init.trunc_normal_(parameter, std=std, a=-2 * std, b=2 * std)
