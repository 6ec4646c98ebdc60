"""Encoder and decoder step as ONNX graphs: tensors in, tensors out, every one with a name."""

import copy
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch._dynamo.exc import TorchDynamoException

from transduce.errors import ConfigError
from transduce.export.layers import OnnxLayer, translate_layer
from transduce.layers.cells import Cell
from transduce.model import Seq2Seq
from transduce.types import SPECIALS, Source

Named = Sequence[tuple[str, Tensor]]
EXAMPLES = ({"batch": 2, "length": 3}, {"batch": 4, "length": 5})  # an axis that follows these is dynamic


class Port(NamedTuple):
    """An input or output of a graph; an axis is a size, or the name of one that may be any."""

    name: str
    type: str
    shape: list[int | str]


class Graph(NamedTuple):
    """An ONNX model with what goes in and comes out, in order."""

    program: Any
    inputs: list[Port]
    outputs: list[Port]


class EncoderGraph(nn.Module):
    """Source tokens and mask to memory and first state."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model = model

    def named(self, tokens: Tensor, mask: Tensor) -> Named:
        memory, state = self.model.start(Source(tokens, mask))
        return [*leaves(memory, "memory"), *leaves(state, "state")]

    def forward(self, *given: Tensor) -> list[Tensor]:
        return [tensor.clone() for _, tensor in self.named(*given)]  # the mask goes straight through


class StepGraph(nn.Module):
    """A token, memory and state to log-probabilities, attention weights and the next state."""

    def __init__(self, model: Seq2Seq, memory: Any, state: Any) -> None:
        super().__init__()
        self.model, self.like = model, (memory, state)

    def named(self, *given: Tensor) -> Named:
        token, *rest = given
        memory, state = rebuild(self.like, iter(rest))
        state, output = self.model.step(memory, state, token, weights=True)
        told = [("log_probs", output.log_probs), ("weights", output.weights)]
        return [*told, *leaves(state, "next")]

    def forward(self, *given: Tensor) -> list[Tensor]:
        return [tensor for _, tensor in self.named(*given)]


def leaves(tree: Any, path: str) -> Iterator[tuple[str, Tensor]]:
    """Every tensor in nested tuples, by its path."""
    if isinstance(tree, Tensor):
        yield path, tree
    elif tree is not None:
        names = range(len(tree)) if type(tree) is tuple else tree._fields
        for name, leaf in zip(names, tree, strict=True):
            yield from leaves(leaf, f"{path}.{name}")


def rebuild(tree: Any, tensors: Iterator[Tensor]) -> Any:
    """Nested tuples of this kind with other tensors, in the order of `leaves`."""
    if tree is None or isinstance(tree, Tensor):
        return tree if tree is None else next(tensors)
    filled = [rebuild(leaf, tensors) for leaf in tree]
    return tuple(filled) if type(tree) is tuple else type(tree)(*filled)


@torch.no_grad()
def graphs_of(model: Seq2Seq) -> tuple[Graph, Graph]:
    """The graphs of encoder and decoder step, of a copy of the model in float32.

    Raises ConfigError where a part of the model cannot be a graph, or a package is missing.
    """
    model = copy.deepcopy(model).cpu().float().eval()
    examples = [source(**sizes) for sizes in EXAMPLES]
    started = [model.start(example) for example in examples]
    given = [[*leaves(memory, "memory"), *leaves(state, "state")] for memory, state in started]
    step = StepGraph(model, *started[0])
    steps = [
        [("token", example.tokens[:, 0]), *named] for example, named in zip(examples, given, strict=True)
    ]
    step_outputs = [step.named(*(tensor for _, tensor in inputs)) for inputs in steps]
    decoder = to_onnx(step, ports(*steps), ports(*step_outputs), [tensor for _, tensor in steps[0]])
    for cell in [module for module in model.modules() if isinstance(module, Cell)]:
        cell.read = OnnxLayer(cell)
    sources = [[("tokens", example.tokens), ("mask", example.mask)] for example in examples]
    encoder = to_onnx(EncoderGraph(model), ports(*sources), ports(*given), [*examples[0][:2]])
    return encoder, decoder


def source(batch: int, length: int) -> Source:
    """An example without padding; its symbols do not matter."""
    tokens = torch.full((batch, length), SPECIALS - 1)
    return Source(tokens, torch.ones_like(tokens, dtype=torch.bool))


def ports(first: Named, second: Named) -> list[Port]:
    """The names, types and axes of tensors that two examples of different sizes gave."""
    return [
        Port(name, str(one.dtype).removeprefix("torch."), axes(one.shape, other.shape))
        for (name, one), (_, other) in zip(first, second, strict=True)
    ]


def axes(first: Sequence[int], second: Sequence[int]) -> list[int | str]:
    names = {(EXAMPLES[0][axis], EXAMPLES[1][axis]): axis for axis in EXAMPLES[0]}
    return [one if one == other else names[one, other] for one, other in zip(first, second, strict=True)]


def to_onnx(graph: nn.Module, inputs: list[Port], outputs: list[Port], example: list[Tensor]) -> Graph:
    """The graph in ONNX, by torch's exporter."""
    dims = {axis: torch.export.Dim(axis) for axis in EXAMPLES[0]}
    varied = [
        {place: dims[axis] for place, axis in enumerate(port.shape) if isinstance(axis, str)}
        for port in inputs
    ]
    with quiet():
        try:
            # strict: else sizes that the model reads by len() become those of the example
            exported = torch.export.export(
                graph.eval(), tuple(example), dynamic_shapes=(tuple(varied),), strict=True
            )
            program: Any = torch.onnx.export(
                exported,
                dynamo=True,
                verbose=False,
                input_names=[port.name for port in inputs],
                output_names=[port.name for port in outputs],
                custom_translation_table={torch.ops.transduce.read_layer.default: translate_layer},
            )
        except (torch.onnx.OnnxExporterError, TorchDynamoException) as error:
            reason = str(error.__cause__ or error).strip().split("\n")[0]
            raise ConfigError(f"export: a part of this model cannot be an ONNX graph: {reason}") from error
    return Graph(program.model_proto, inputs, outputs)


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps to itself what the exporter says of packages that it does not need and names that it uses."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript", "onnx_ir")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*LeafSpec.* is deprecated", category=FutureWarning)
        warnings.filterwarnings("ignore", message=".*axis name: .* shares the same shape constraints")
        try:
            yield
        finally:
            for logger, level in zip(loggers, before, strict=True):
                logger.setLevel(level)
