"""How parameters start."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator

from torch import nn

from transduce.config import Component
from transduce.errors import ConfigError
from transduce.types import PAD


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
        for name, parameter in trained(model):
            if name.endswith("table.weight"):
                nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
                clear_padding(parameter)
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


class UniformInitializer(Initializer, name="uniform"):
    """Everything uniform in [-scale, scale] (Sutskever et al. 2014: .08; Luong et al. 2015: .1)."""

    def __init__(self, *, scale: float = 0.1) -> None:
        self.scale = check_scale(scale)

    def __call__(self, model: nn.Module) -> None:
        for name, parameter in trained(model):
            nn.init.uniform_(parameter, -self.scale, self.scale)
            if name.endswith("table.weight"):
                clear_padding(parameter)


class NormalInitializer(Initializer, name="normal"):
    """N(0, scale²), biases and the attention's energy 0, recurrent matrices orthogonal gate by gate.

    Bahdanau et al. 2015 (B.1): scale .01, and the attention's own matrices N(0, .001²).
    """

    def __init__(self, *, scale: float = 0.01, attention_scale: float = 0.001) -> None:
        self.scale, self.attention_scale = check_scale(scale), check_scale(attention_scale)

    def __call__(self, model: nn.Module) -> None:
        for name, parameter in trained(model):
            if parameter.dim() < 2 or name.endswith("energy.weight"):
                nn.init.zeros_(parameter)
            elif "weight_hh" in name:
                for gate in parameter.data.split(parameter.shape[1]):
                    nn.init.orthogonal_(gate)
            else:
                nn.init.normal_(parameter, std=self.attention_scale if "attention." in name else self.scale)
            if name.endswith("table.weight"):
                clear_padding(parameter)


def trained(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """The parameters that training changes, by name, but those of layer norms, which start as identities."""
    norms = {id(p) for part in model.modules() if isinstance(part, nn.LayerNorm) for p in part.parameters()}
    named = model.named_parameters()  # tied ones once
    return ((name, p) for name, p in named if p.requires_grad and id(p) not in norms)


def clear_padding(table: nn.Parameter) -> None:
    """PAD's row is zero, and stays so."""
    table.data[PAD] = 0.0


def check_scale(scale: float) -> float:
    if not 0 < scale < math.inf:
        raise ConfigError(f"initializer.scale: expected more than 0; got {scale}")
    return scale
