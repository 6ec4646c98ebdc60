"""The model as a whole: the wiring example, and what no model is given to read."""

import pytest
import torch

from tests.helpers import build, same, source
from transduce.config import validate
from transduce.data.batch import Batch, pair_batch
from transduce.data.index import Index, Ragged
from transduce.errors import ConfigError
from transduce.model import ModelSettings, Seq2Seq
from transduce.training.loss import cross_entropy
from transduce.types import BOS, EOS, PAD, UNK, Source, check_source

VOCAB = 7  # PAD, UNK, BOS, EOS and the example's 3, 4, 5 as 4, 5, 6


def wiring() -> Seq2Seq:
    torch.manual_seed(1)
    tree = {
        "encoder": {"cell": "gru", "embedding": 4, "width": 5, "bidirectional": False, "dropout": 0.0},
        "decoder": {
            "cell": "gru",
            "embedding": 4,
            "width": 5,
            "attend": "before",
            "attention": {"name": "additive", "units": 4},
            "readout": "linear",
            "dropout": 0.0,
        },
    }
    return validate(ModelSettings, tree, "test").build(VOCAB, VOCAB)


def batch() -> Batch:
    tokens = torch.tensor([[4, 5, 6], [5, 6, PAD]])
    inputs = torch.tensor([[BOS, 5, 4], [BOS, 6, EOS]])
    target = torch.tensor([[5, 4, EOS], [6, EOS, PAD]])
    return Batch(Source(tokens, tokens != PAD), inputs, target, target != PAD)


def test_the_wiring_example_has_its_shapes_and_five_valid_targets() -> None:
    given = batch()
    log_probs, weights = wiring()(given.source, given.inputs, weights=True)
    assert log_probs.shape == (2, 3, VOCAB)
    torch.testing.assert_close(log_probs.exp().sum(dim=-1), torch.ones(2, 3))
    assert weights.shape == (2, 3, 1, 1, 3)
    assert weights[1, ..., 2].eq(0).all()
    loss = cross_entropy(log_probs, given.target, given.target_mask)
    assert loss.tokens == given.target_mask.sum() == 5
    by_hand = [log_probs[b, t, given.target[b, t]] for b, t in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]]
    torch.testing.assert_close(loss.total, -torch.stack(by_hand).sum())


def test_the_wiring_examples_cell_reads_embedding_and_context_and_its_head_state_and_context() -> None:
    decoder = wiring().decoder
    assert decoder.cells[0].rnn.input_size == 4
    assert decoder.feed.in_features == 5
    assert decoder.output.in_features == 5 + 5
    assert decoder.attention.energy.in_features == 4


def test_the_wiring_example_learns_by_one_step() -> None:
    model, given = wiring(), batch()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    loss = cross_entropy(model(given.source, given.inputs).log_probs, given.target, given.target_mask)
    (loss.total / loss.tokens).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.ne(0).any(), name
    for embedding in (model.encoder.embedding, model.decoder.embedding):
        assert embedding.table.weight.grad[PAD].eq(0).all()
    optimizer.step()
    after = cross_entropy(model(given.source, given.inputs).log_probs, given.target, given.target_mask)
    assert after.total < loss.total
    assert all(not old.equal(new) for old, new in zip(before, model.parameters(), strict=True))
    assert model.encoder.embedding.table.weight[PAD].eq(0).all()
    assert model.decoder.embedding.table.weight[PAD].eq(0).all()


def test_padding_of_targets_has_no_part_in_loss_or_gradient() -> None:
    model, given = wiring(), batch()
    log_probs = model(given.source, given.inputs).log_probs
    log_probs.retain_grad()
    cross_entropy(log_probs, given.target, given.target_mask).total.backward()
    assert log_probs.grad[1, 2].eq(0).all()
    assert log_probs.grad[1, 1].ne(0).any()


def test_a_batch_shifts_its_targets_by_one() -> None:
    index = Index(Ragged.of([[4, 5, 6], [5, 6]]), Ragged.of([[5, 4], [6]]))
    made = pair_batch(index, [0, 1], source_eos=False)
    assert made.source.tokens.tolist() == [[4, 5, 6], [5, 6, PAD]]
    assert made.source.mask.tolist() == [[True, True, True], [True, True, False]]
    assert made.inputs.tolist() == [[BOS, 5, 4], [BOS, 6, PAD]]
    assert made.target.tolist() == [[5, 4, EOS], [6, EOS, PAD]]
    assert made.target_mask.tolist() == [[True, True, True], [True, True, False]]
    ended = pair_batch(index, [0, 1], source_eos=True)
    assert ended.source.tokens.tolist() == [[4, 5, 6, EOS], [5, 6, EOS, PAD]]


def test_start_and_step_are_the_decoders_over_what_the_encoder_read() -> None:
    model, given = build({"width": 4}, {"width": 6}), source((3, 2))
    memory, state = model.start(given)
    tokens = torch.tensor([[BOS, 5], [BOS, 7]])
    whole = model(given, tokens, weights=True)
    for t in range(2):
        state, output = model.step(memory, state, tokens[:, t], weights=True)
        same(output.log_probs, whole.log_probs[:, t])
        same(output.weights, whole.weights[:, t])
    assert model(given, tokens).weights is None


def test_both_sides_have_their_own_vocabulary() -> None:
    model = ModelSettings().build(11, 23)
    assert model.encoder.embedding.table.num_embeddings == 11
    assert model.decoder.embedding.table.num_embeddings == 23
    assert model.decoder.output.out_features == 23


def test_the_initializer_is_the_one_that_is_named() -> None:
    tree = {"encoder": {"width": 4}, "decoder": {"width": 4}, "initializer": "lecun_normal"}
    model = validate(ModelSettings, tree, "test").build(9, 9)
    assert model.decoder.output.bias.eq(0).all()


def test_the_same_seed_builds_the_same_model() -> None:
    first, second = wiring().state_dict(), wiring().state_dict()
    assert all(first[key].equal(second[key]) for key in first)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"encoder": {"widht": 3}}, "did you mean 'width'"),
        ({"decoder": {"cell": "lsmt"}}, "unknown cell 'lsmt'; did you mean 'lstm'"),
        ({"decoder": {"attention": "aditive"}}, "did you mean 'additive'"),
        ({"decoder": {"attend": "during"}}, r"decoder.*attend.*'before' or 'after'.*'during'"),
        ({"encoder": {"layers": 1.5}}, r"layers: expected .*integer.*1\.5"),
    ],
)
def test_settings_that_do_not_exist_are_refused(tree: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validate(ModelSettings, tree, "test")


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([[1, 1, 0], [1, 0, 0]], r"expected bool \(2, 3\).*got torch.int64 \(2, 3\)"),
        ([[True, True], [True, False]], r"expected bool \(2, 3\).*got torch.bool \(2, 2\)"),
        ([[True, True, True]], r"expected bool \(2, 3\).*got torch.bool \(1, 3\)"),
        ([[True, True, False], [False] * 3], r"expected a real token in every row; got empty rows \[1\]"),
        ([[False] * 3] * 2, r"got empty rows \[0, 1\]"),
        ([[True, False, True], [True, True, True]], "padding on the right only"),
        ([[False, True, True], [True, True, True]], "padding on the right only"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_sources_that_no_model_could_read_are_refused(mask: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_source(Source(torch.full((2, 3), UNK), torch.tensor(mask)))


def test_a_good_source_passes_as_it_is() -> None:
    given = source((3, 1))
    assert check_source(given) is given
