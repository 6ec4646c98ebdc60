"""The proof of batch invariance that users run on their own models."""

import json
from typing import Any

import pytest
import torch

from tests.translators import KINDS, lines, make
from transduce.encoders import Encoder
from transduce.errors import ConfigError, DataError
from transduce.model import Seq2Seq
from transduce.translator import Translator
from transduce.translator.batching import BatchingReport, check_batching
from transduce.types import Encoded, Source

pytestmark = pytest.mark.usefixtures("unchecked")  # for speed: shapes are checked elsewhere


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1, 5])
def test_whole_models_pass_in_float32(kind: str, width: int) -> None:
    model = make(kind, torch.float32)
    report = check_batching(model, ["", *lines(8)], search=model.searcher(width=width))
    assert report.passed
    assert (report.lines, report.batch_sizes) == (9, (7, 64))
    assert report.largest < 1e-5
    first, *rest = report.remarks()
    assert first.startswith("output does not depend on the batch: 9 lines alone and in batches of 7, 64")
    assert len(rest) == len(report.ties)
    assert json.loads(json.dumps(report.plain()))["passed"] is True


class ReadsPadding(Encoder):
    """An encoder whose states shift with the width of the batch: what must be found."""

    def __init__(self, encoder: Encoder, shift: float) -> None:
        super().__init__()
        self.shape, self.encoder, self.shift = encoder.shape, encoder, shift

    def forward(self, source: Source) -> Encoded:
        encoded = self.encoder(source)
        padding = (~source.mask).sum(dim=1)[:, None, None].to(encoded.values.dtype)
        return encoded._replace(values=encoded.values + self.shift * padding)


def faulty(shift: float) -> Translator:
    model = make("gru+additive", torch.float32)
    model.model = Seq2Seq(ReadsPadding(model.model.encoder, shift), model.model.decoder)
    return model


def test_a_model_that_reads_padding_is_found() -> None:
    report = check_batching(faulty(0.3), lines(12))
    assert not report.passed
    assert any(fault.alone != fault.batched for fault in report.faults)
    first, *rest = report.remarks()
    assert first.startswith("output DEPENDS on the batch")
    assert rest[-1].startswith("fault: line ")
    plain = report.plain()
    assert plain["passed"] is False
    assert len(plain["faults"]) == len(report.faults)


def test_scores_that_shift_are_a_fault_though_the_texts_are_equal() -> None:
    report = check_batching(faulty(1e-3), lines(12))
    assert not report.passed
    assert all(fault.alone == fault.batched for fault in report.faults if fault.gap < 1e-3)
    assert report.largest > 1e-5


def test_different_outputs_are_ties_only_where_scores_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make("gru+additive")
    (told,) = model.translate(["abc"])
    for gap, kind in ((0.9e-4, "ties"), (1.1e-4, "faults")):

        def stream(texts: Any, *, search: Any, batch_size: int, gap: float = gap) -> Any:
            changed = {"text": "b", "tokens": ["b", "</s>"], "score": told.score - gap}
            yield told if batch_size == 1 else type(told)(**{**vars(told), **changed})

        monkeypatch.setattr(model, "stream", stream)
        report = check_batching(model, ["abc"], batch_sizes=[3])
        assert isinstance(report, BatchingReport)
        (found,) = getattr(report, kind)
        assert (found.line, found.batch_size, found.alone, found.batched) == (1, 3, told.text, "b")
        assert report.passed == (kind == "ties")
        assert f"{kind[:-1]}: line 1: {told.text!r} alone, 'b' in batches of 3" in list(report.remarks())[1]


def test_a_search_that_draws_and_no_text_are_refused() -> None:
    model = make("gru+additive")
    with pytest.raises(ConfigError, match="got search 'sampling'"):
        check_batching(model, ["a"], search=model.searcher(name="sampling"))
    with pytest.raises(DataError, match="at least one text; got none"):
        check_batching(model, [])
