"""What a batch must not change: cases BAT-01 to BAT-13 and TXT-15, on whole translators.

The models are random, made in memory, and sharp enough to write different outputs of different lengths.
"""

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.helpers import padded, same, source
from tests.translators import KINDS, Copier, Reader, lines, make
from transduce.data.batch import Batch, pair_batch, source_batch
from transduce.data.index import encode_pairs
from transduce.data.pairs import Pair
from transduce.errors import DataError
from transduce.layers.dropout import Dropout
from transduce.model import Seq2Seq
from transduce.training.loop import Event, Plan, Save, Step, Validation, train, validation
from transduce.training.settings import LoopSettings
from transduce.training.state import TrainState
from transduce.translation import Translation
from transduce.translator import Translator
from transduce.types import BOS, PAD, Source

every_kind = pytest.mark.parametrize("kind", list(KINDS))


def texts(results: list[Translation]) -> list[str]:
    return [result.text for result in results]


@every_kind
@pytest.mark.parametrize("beam", [1, 5])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-9)], ids=str)
@pytest.mark.usefixtures("unchecked")  # for speed: everything here is checked elsewhere
def test_BAT_01_translations_do_not_depend_on_the_batch_size(
    kind: str, beam: int, dtype: torch.dtype, tolerance: float
) -> None:
    given, translator = lines(), make(kind, dtype)
    search = translator.searcher(width=beam, n_best=beam)
    one_by_one = translator.translate(given, search=search, batch_size=1)
    assert len(set(texts(one_by_one))) > 10  # the model does not say the same to everything
    assert len({len(result.tokens) for result in one_by_one}) > 5
    for batch_size in (2, 7, 20):
        together = translator.translate(given, search=search, batch_size=batch_size)
        assert texts(together) == texts(one_by_one)
        for found, expected in zip(together, one_by_one, strict=True):
            compare(found, expected, tolerance)
            for one, other in zip(found.n_best, expected.n_best, strict=True):
                compare(one, other, tolerance)


def compare(found: Translation, expected: Translation, tolerance: float) -> None:
    assert found.tokens == expected.tokens
    assert found.finished == expected.finished
    assert found.score == pytest.approx(expected.score, abs=tolerance)
    assert found.log_prob == pytest.approx(expected.log_prob, abs=tolerance * len(expected.tokens))
    np.testing.assert_allclose(found.attention, expected.attention, atol=tolerance)


@every_kind
def test_BAT_01_forced_scores_do_not_depend_on_the_batch_size(kind: str) -> None:
    translator, sources = make(kind), lines(8)
    targets = [line[::-1][:5] for line in sources]
    one_by_one = translator.score(sources, targets, batch_size=1)
    for batch_size in (3, 8):
        assert translator.score(sources, targets, batch_size=batch_size) == pytest.approx(
            one_by_one, abs=1e-9
        )


@every_kind
def test_BAT_01_encoder_states_of_real_tokens_do_not_depend_on_the_batch(kind: str) -> None:
    translator = make(kind, torch.float32)
    rows = [translator.source_tokenizer.encode(line).ids for line in lines()]
    together = translator.model.encoder(source_batch(rows, eos=True))
    for row, ids in enumerate(rows):
        lone = translator.model.encoder(source_batch([ids], eos=True)).values[0]
        assert (together.values[row, : len(lone)] - lone).abs().max() < 1e-5


@pytest.mark.parametrize("batch_size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("beam", [1, 3])
def test_BAT_03_outputs_come_back_in_the_order_of_the_inputs(batch_size: int, beam: int) -> None:
    given = ["a", "b b b b b", "c c", "d d d d", "e e e", "f f f f f", "g"]
    translator = make("gru+additive", tokenizer="word")
    translator.model = Seq2Seq(Reader(), Copier(translator.target_tokenizer.vocab_size))
    results = translator.translate(given, batch_size=batch_size, search=translator.searcher(width=beam))
    assert texts(results) == given
    assert [result.source for result in results] == given
    for text, result in zip(given, results, strict=True):
        assert result.source_tokens == result.tokens == [*text.split(" "), "</s>"]
        np.testing.assert_array_equal(result.attention, np.eye(len(result.tokens)))


def test_BAT_03_scores_come_back_in_the_order_of_the_inputs() -> None:
    translator = make("gru+additive", tokenizer="word")
    translator.model = Seq2Seq(Reader(), Copier(translator.target_tokenizer.vocab_size))
    sources = ["a", "b b b b b", "c c", "d d d d", "e e e"]
    targets = ["a", "b b b b b", "c g", "d", "e e e"]  # the third has one wrong word, the fourth ends early
    wrong = [0, 0, 1, 1, 0]
    right, miss = (nn.functional.one_hot(torch.tensor(0), 16) * 9.0).log_softmax(0)[:2].tolist()
    found = translator.score(sources, targets, batch_size=2)
    for pair, value in enumerate(found):
        steps = len(targets[pair].split(" ")) + 1
        assert value == pytest.approx((steps - wrong[pair]) * right + wrong[pair] * miss, abs=1e-4)


@every_kind
def test_BAT_05_no_weight_lies_on_padding_with_targets_given(kind: str) -> None:
    model, given = make(kind).model, source((1, 5), width=8)
    tokens = torch.tensor([[BOS, 6, 7, 5], [BOS, 5, PAD, PAD]])
    check_weights(model(given, tokens, weights=True).weights, given)


@every_kind
def test_BAT_05_no_weight_lies_on_padding_in_free_running(kind: str) -> None:
    model, given = make(kind).model, source((1, 5), width=8)
    memory, state = model.start(given)
    token = torch.full((2,), BOS)
    for _ in range(12):  # longer than any source
        state, output = model.step(memory, state, token, weights=True)
        check_weights(output.weights.unsqueeze(1), given)
        token = output.log_probs.argmax(dim=-1)


def check_weights(weights: Tensor, given: Source) -> None:
    padding = ~given.mask[:, None, None, None].expand_as(weights)
    assert padding.any()
    assert weights[padding].eq(0).all()
    same(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))


@every_kind
def test_BAT_05_the_attention_of_a_translation_is_all_on_its_own_source(kind: str) -> None:
    for result in make(kind).translate(["a", "bcdef"], batch_size=2):
        assert result.attention.shape == (len(result.tokens), len(result.source_tokens))
        np.testing.assert_allclose(result.attention.sum(axis=1), 1, atol=1e-9)


@every_kind
def test_BAT_08_sources_of_one_token_are_sources_like_any_other(kind: str) -> None:
    translator = make(kind)
    first, second, _ = translator.translate(["a", "a", "bcd"], batch_size=3)
    (alone,) = translator.translate(["a"])
    for other in (second, alone):
        assert first.tokens == other.tokens
        assert first.score == pytest.approx(other.score, abs=1e-9)
        np.testing.assert_allclose(first.attention, other.attention, atol=1e-9)
    assert translator.translate("b").score != pytest.approx(alone.score, abs=1e-3)  # and is not empty


@every_kind
@pytest.mark.parametrize("blank", ["", "  ", "\t\u3000"])
def test_BAT_09_an_empty_source_gives_an_empty_output_and_harms_no_other(kind: str, blank: str) -> None:
    translator = make(kind)
    first, empty, third = translator.translate(["a", blank, "b"])
    assert (empty.source, empty.text, empty.tokens, empty.source_tokens) == (blank, "", [], [])
    for found, text in ((first, "a"), (third, "b")):
        compare(found, translator.translate(text), 1e-9)
    assert texts(translator.translate([blank, blank])) == ["", ""]
    assert translator.translate([]) == []


def test_BAT_09_an_empty_source_never_becomes_a_batch() -> None:
    with pytest.raises(ValueError, match=r"expected a real token in every row; got empty rows \[1\]"):
        source_batch([[5], [], [6]], eos=False)
    with pytest.raises(DataError, match=r"pairs \[2\] have a blank one"):
        make("gru+additive").score(["a", " ", "b"], ["a", "b", "c"])


@every_kind
def test_BAT_10_a_row_of_padding_alone_harms_no_other(kind: str) -> None:
    attention = make(kind).model.decoder.attention
    widths = {"gru+additive": 16, "lstm+dot": 12, "gru+multihead": 16}
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(2, 3, widths[kind], generator=generator, dtype=torch.float64)
    query = torch.randn(2, 2, 12, generator=generator, dtype=torch.float64)
    mask, position = torch.tensor([[True] * 3, [False] * 3]), torch.zeros(2, 2, dtype=torch.long)
    keys = attention.project(values, mask)
    both = attention(query, keys, mask, position, attention.start(keys, 2))
    keys = attention.project(values[:1], mask[:1])
    alone = attention(query[:1], keys, mask[:1], position[:1], attention.start(keys, 2))
    assert both.context.isfinite().all()
    assert both.weights[1].eq(0).all()
    same(both.context[:1], alone.context)
    same(both.weights[:1], alone.weights)


@every_kind
def test_BAT_12_a_batch_padded_wider_gives_the_same(kind: str) -> None:
    model, given = make(kind).model, source((3, 2))
    tokens = torch.tensor([[BOS, 6, 7], [BOS, 5, 8]])
    before, after = (model(each, tokens, weights=True) for each in (given, padded(given, 3)))
    assert after.weights.shape[-1] == 6
    same(after.log_probs, before.log_probs)
    same(after.weights[..., :3], before.weights)


def with_dropout(translator: Translator) -> list[Dropout]:
    """Sets every dropout of the model to a half."""
    dropouts = [module for module in translator.model.modules() if isinstance(module, Dropout)]
    for dropout in dropouts:
        dropout.rate = 0.5
    return dropouts


@every_kind
@pytest.mark.parametrize("beam", [1, 5])
def test_BAT_13_dropout_is_off_at_inference(kind: str, beam: int) -> None:
    translator, given = make(kind), lines(6)
    assert len(with_dropout(translator)) >= 4  # embeddings, and what lies between, on both sides
    search = translator.searcher(width=beam)
    expected = translator.translate(given, search=search)
    for _ in range(2):
        translator.model.train()
        results = translator.translate(given, search=search)
        assert not translator.model.training
        for found, first in zip(results, expected, strict=True):
            assert (found.tokens, found.score) == (first.tokens, first.score)
            np.testing.assert_array_equal(found.attention, first.attention)


@every_kind
def test_BAT_13_dropout_is_off_in_forced_scores(kind: str) -> None:
    translator = make(kind)
    with_dropout(translator)
    expected = translator.score(["abc", "d"], ["cba", "d"])
    translator.model.train()
    assert translator.score(["abc", "d"], ["cba", "d"]) == expected


class Watch:
    """A training run that notes whether the model was in training mode at each step and validation."""

    def __init__(self) -> None:
        translator = make("gru+additive")
        self.model = translator.model
        tokenizer = translator.source_tokenizer
        index = encode_pairs([Pair(line, line[::-1]) for line in lines(4)], tokenizer, tokenizer)
        self.batch: Batch = pair_batch(index, [0, 1, 2, 3], source_eos=True)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.modes: list[tuple[str, bool]] = []
        self.hook = self.model.register_forward_hook(lambda *_: self.note("step"))

    def note(self, what: str) -> None:
        assert len({module.training for module in self.model.modules()}) == 1  # all parts or none
        self.modes.append((what, self.model.training))

    def batches(self, epoch: int, position: int) -> Iterator[Batch]:
        return iter([self.batch, self.batch])

    def validate(self) -> Mapping[str, float]:
        self.note("validation")
        return {"exact_match": 0.0}

    def run(self, validate: Callable[[], Mapping[str, float]], updates: int = 3) -> Iterator[Event]:
        plan = Plan(updates, 1, updates, updates, 1, "exact_match", higher_is_better=True)
        return train(
            self.model,
            self.optimizer,
            self.batches,
            validate,
            LoopSettings(),
            plan,
            TrainState(),
            lambda: False,
        )


def test_BAT_13_validation_is_without_dropout_and_the_next_step_with() -> None:
    watch = Watch()
    events = [type(event) for event in watch.run(watch.validate) if not isinstance(event, Save)]
    assert events.count(Step) == events.count(Validation) == 3
    assert watch.modes == [("step", True), ("validation", False)] * 3


def test_BAT_13_training_mode_comes_back_though_validation_raised() -> None:
    watch = Watch()

    def fail() -> Mapping[str, float]:
        watch.note("validation")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        list(watch.run(fail))
    assert watch.modes == [("step", True), ("validation", False)]
    assert all(module.training for module in watch.model.modules())
    plan = Plan(1, 1, 1, 1, 1, "exact_match", higher_is_better=True)
    with pytest.raises(OSError, match="no space left"):
        validation(watch.model, fail, plan, TrainState())
    assert watch.model.training


def test_BAT_13_a_validation_that_translates_does_not_switch_dropout_off_for_good() -> None:
    watch, translator = Watch(), make("gru+additive")
    translator.model = watch.model
    watch.hook.remove()

    def translate() -> Mapping[str, float]:
        translator.translate(lines(3))
        return watch.validate()

    modes = [watch.model.training for event in watch.run(translate) if isinstance(event, Step)]
    assert modes == [True] * 3
    assert watch.modes == [("validation", False)] * 3


@every_kind
def test_TXT_15_characters_never_seen_are_read_as_unknown(kind: str) -> None:
    translator = make(kind)
    results = translator.translate(["abz", "ß", "😀"])
    assert [result.source_tokens for result in results] == [
        ["a", "b", "z", "</s>"],
        ["ß", "</s>"],
        ["😀", "</s>"],
    ]
    assert [result.attention.shape[1] for result in results] == [4, 2, 2]
    assert results[1].tokens == results[2].tokens  # all that is unknown is one
    notes = translator.notes
    assert (notes.unseen, list(notes.examples)) == (3, ["z", "ß", "😀"])
    (line,) = [line for line in translator.notes.lines() if "unknown" in line]
    assert line.startswith("3 source tokens were never seen in training")
    assert all(repr(symbol) in line for symbol in ("z", "ß", "😀"))
    assert all(math.isfinite(result.score) for result in results)
    translator.translate([chr(ord("א") + number) for number in range(20)] * 2)
    assert notes.unseen == 43
    assert len(notes.examples) == 6  # of many it keeps but a few
    assert "43 source tokens" in next(notes.lines())
