"""How parameters start: the distributions that the names promise."""

import math

import pytest
import torch
from torch import nn

from transduce.config import Spec, validate
from transduce.errors import ConfigError
from transduce.layers.initializers import Initializer, LecunNormalInitializer, lecun_normal_
from transduce.model import ModelSettings
from transduce.types import PAD


def make(initializer: str | dict[str, object]) -> dict[str, torch.Tensor]:
    """The parameters of a model with at least one of every kind of layer, by name."""
    torch.manual_seed(1)
    tree = {
        "encoder": {"embedding": 40, "width": 50, "cell": "gru"},
        "decoder": {
            "embedding": 40,
            "width": 60,
            "cell": "lstm",
            "attention": {"name": "additive", "units": 70},
        },
        "initializer": initializer,
    }
    model = validate(ModelSettings, tree, "test").build(200, 300)
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("name", list(Initializer.family))
def test_every_initializer_keeps_pad_at_zero_and_all_else_finite(name: str) -> None:
    for key, parameter in make(name).items():
        assert parameter.isfinite().all(), key
        if key.endswith("table.weight"):
            assert parameter[PAD].eq(0).all(), key
            assert parameter[1:].ne(0).any(dim=1).all(), key


@pytest.mark.parametrize("name", list(Initializer.family))
def test_every_initializer_follows_the_seed(name: str) -> None:
    first, second = make(name), make(name)
    assert all(first[key].equal(second[key]) for key in first)


def test_default_is_torch_as_it_comes() -> None:
    model = nn.Linear(3, 4)
    before = model.weight.clone()
    Spec(Initializer, "default").build()(model)
    assert model.weight.equal(before)


def test_lecun_normal_biases_are_zero() -> None:
    biases = [parameter for key, parameter in make("lecun_normal").items() if "bias" in key]
    assert len(biases) > 5
    assert all(bias.eq(0).all() for bias in biases)


def test_lecun_normal_recurrent_kernels_are_orthogonal_as_one_matrix() -> None:
    kernels = {key: kernel for key, kernel in make("lecun_normal").items() if "weight_hh" in key}
    assert len(kernels) == 3  # two directions and the decoder
    for key, kernel in kernels.items():
        assert kernel.shape[0] in (3 * 50, 4 * 60), key  # all gates together
        torch.testing.assert_close(kernel.T @ kernel, torch.eye(kernel.shape[1]), atol=1e-5, rtol=0)
        gate = kernel[: kernel.shape[1]]  # so no gate alone is
        assert (gate.T @ gate - torch.eye(kernel.shape[1])).abs().max() > 0.1


def test_lecun_normal_embeddings_have_variance_one_over_width() -> None:
    tables = [table for key, table in make("lecun_normal").items() if key.endswith("table.weight")]
    assert len(tables) == 2
    for table in tables:
        assert table[1:].std().item() == pytest.approx(1 / math.sqrt(40), rel=0.05)
        assert table[1:].abs().max() > 2.5 / math.sqrt(40)  # not cut off


def test_lecun_normal_kernels_have_variance_one_over_fan_in() -> None:
    kernels = {
        key: kernel
        for key, kernel in make("lecun_normal").items()
        if kernel.dim() == 2 and "table" not in key and "weight_hh" not in key and kernel.numel() > 1000
    }
    assert len(kernels) >= 6
    for key, kernel in kernels.items():
        assert kernel.std().item() == pytest.approx(1 / math.sqrt(kernel.shape[1]), rel=0.06), key
        assert kernel.mean().abs() < 0.1 / math.sqrt(kernel.shape[1]), key


def test_lecun_normal_is_cut_at_two_standard_deviations() -> None:
    kernel = nn.Parameter(torch.empty(400, 25))
    torch.manual_seed(2)
    lecun_normal_(kernel)
    uncut = 0.2 / 0.87962566103423978  # of the normal before the cut
    assert 1.9 * uncut < kernel.abs().max().item() <= 2 * uncut
    assert kernel.std().item() == pytest.approx(0.2, rel=0.02)


def test_lecun_normal_sets_every_parameter() -> None:
    model = nn.ModuleDict({"rnn": nn.GRU(3, 4), "output": nn.Linear(4, 5)})
    for parameter in model.parameters():
        nn.init.constant_(parameter, 7.0)
    LecunNormalInitializer()(model)
    assert all(parameter.ne(7.0).all() for parameter in model.parameters())


def test_uniform_lies_within_its_scale_and_fills_it() -> None:
    for name, value in make({"name": "uniform", "scale": 0.08}).items():
        assert value.abs().max() <= 0.08, name
    weight = make({"name": "uniform", "scale": 0.08})["encoder.layers.0.0.rnn.weight_ih_l0"]
    assert weight.abs().max() > 0.07


def test_normal_is_the_recipe_of_bahdanau() -> None:
    values = make("normal")
    for name, value in values.items():
        if value.dim() < 2 or name.endswith("energy.weight"):
            assert value.eq(0).all(), name
        elif "weight_hh" in name:
            for gate in value.double().split(value.shape[1]):
                torch.testing.assert_close(
                    gate @ gate.T, torch.eye(len(gate), dtype=torch.double), atol=1e-5, rtol=0
                )
    assert abs(values["decoder.attention.key.weight"].std() / 0.001 - 1) < 0.2
    assert abs(values["encoder.layers.0.0.rnn.weight_ih_l0"].std() / 0.01 - 1) < 0.2


@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_a_scale_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="scale"):
        Spec(Initializer, name, {"scale": 0.0}).build()


@pytest.mark.parametrize("name", list(Initializer.family))
def test_layer_norms_start_as_identities_and_a_tied_table_keeps_its_padding(name: str) -> None:
    sides = {"width": 8, "layers": 2, "layer_norm": True}
    tree = {
        "encoder": {**sides, "bidirectional": False},
        "decoder": {**sides, "tied": True},
        "share_embeddings": True,
        "initializer": name,
    }
    model = validate(ModelSettings, tree, "test").build(50, 50)
    for norm in (*model.encoder.stacking.norms, *model.decoder.stacking.norms):
        assert norm.weight.eq(1).all()
        assert norm.bias.eq(0).all()
    assert model.decoder.output.weight is model.encoder.embedding.table.weight
    assert model.decoder.output.weight[PAD].eq(0).all()
    assert model.decoder.output.weight[1:].ne(0).any(dim=1).all()
