"""A model's matrix products, put in other hands for decoding."""

from collections.abc import Callable

from torch import Tensor, nn

from transduce.layers.cells import Cell, run_stepwise
from transduce.layers.share import Share


def replace_products(model: nn.Module, make: Callable[[Tensor, Tensor | None], nn.Module]) -> None:
    """Puts what `make` gives for (weight, bias) in the place of a model's products, in place.

    The model can then be used, not trained. Embedding tables, layer norms and what maps to a single
    number, such as an attention's energy, stay as they are.
    """
    modules = list(model.modules())
    owners = {module.owner for module in modules if isinstance(module, Share)}
    for parent in modules:
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear | Share) and child not in owners and len(child.weight) > 1:
                setattr(parent, name, make(child.weight, child.bias))
        if isinstance(parent, Cell):
            parent.read = run_stepwise  # torch's fused kernels read the owner's parameters
    for owner in owners:
        owner.to("meta")  # its parameters have no reader any more
