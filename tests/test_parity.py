"""The published 12-way probe model, as `benchmarks/parity.py` makes it of this package's parts."""

import importlib.util
from pathlib import Path
from types import ModuleType

import torch


def parity() -> ModuleType:
    path = Path(__file__).parent.parent / "benchmarks" / "parity.py"
    spec = importlib.util.spec_from_file_location("parity", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_has_56_236_parameters_and_with_torchs_hidden_biases_56_620():
    model = parity().Probe()
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == 56_236
    assert sum(p.numel() for p in model.parameters()) == 56_620


def test_its_shapes_are_the_published_ones_and_it_reads_no_symbol_early():
    probe = parity()
    source = torch.randint(12, (3, 8), generator=torch.Generator().manual_seed(0))
    target = source.flip(1)
    inputs = probe.shifted(target)
    assert inputs[:, 0].eq(12).all()  # BOS, one more than the symbols
    assert inputs[:, 1:].equal(target[:, :-1])
    logits, weights = probe.Probe()(source, inputs)
    assert logits.shape == (3, 8, 12)
    assert weights.shape == (3, 4, 8, 8)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, 4, 8))
