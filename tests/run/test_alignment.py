"""AER of a model that looks where it copies from, and of one that does not."""

import numpy as np
import pytest

from tests import translators
from transduce.data.pairs import Pair
from transduce.errors import ConfigError, DataError
from transduce.metrics.alignment import GoldAlignment, parse_links
from transduce.model import Seq2Seq
from transduce.run.alignment import AlignmentErrors, forced_attention, read_gold
from transduce.run.outputs import Outputs

PAIRS = [Pair("ab c def", "ab c def"), Pair("l", "l"), Pair("a bb", "a bb"), Pair("ab cd", "ab")]
NOTHING = Outputs(hypotheses=[""], answers=[("",)], lines=[1])


def copier():
    """A model that looks at the source token of the same place, whatever it is forced to say."""
    model = translators.make("gru+additive")
    for tokenizer in (model.source_tokenizer, model.target_tokenizer):
        tokenizer.fit([*translators.ALPHABET, " "])
    model.model = Seq2Seq(translators.Reader(), translators.Copier(model.target_tokenizer.vocab_size))
    return model


def gold(*lines: str) -> list[GoldAlignment]:
    return [parse_links(line, "gold") for line in lines]


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_a_copier_is_aligned_word_by_word(batch_size):
    right = gold("0-0 1-1 2-2", "0-0", "0-0 1-1", "0-0")
    found = AlignmentErrors(copier(), PAIRS, right, None, batch_size)(NOTHING)["alignment"]
    assert found == {
        "aer": 0,
        "precision": 1,
        "recall": 1,
        "links": 7,
        "sure": 7,
        "signature": "aer|level:corpus|split:space|forced:yes|links:most",
    }
    wrong = gold("0-0 1-1 2?1", "0-0", "1-0 1-1", "0-0 1?0")
    found = AlignmentErrors(copier(), PAIRS, wrong, 0.5, batch_size)(NOTHING)["alignment"]
    assert found["aer"] == pytest.approx(1 - (5 + 5) / (7 + 6))
    assert (found["precision"], found["recall"]) == (pytest.approx(5 / 7), pytest.approx(5 / 6))
    assert found["signature"].endswith("links:at_least_0.5")


@pytest.mark.parametrize("kind", translators.KINDS)
def test_the_reference_is_forced(kind):
    """The attention of the target is that of a search whose output is the target."""
    model = translators.make(kind)
    translations = model.translate(translators.lines(6))
    pairs = [Pair(one.source, one.text) for one in translations]
    for weights, one in zip(forced_attention(model, pairs, 4), translations, strict=True):
        rows, columns = one.attention.shape
        assert np.allclose(weights[:rows, :columns], one.attention, atol=1e-9)
        assert not weights[:rows, columns:].any()


@pytest.mark.parametrize("threshold", [0.0, -0.5, 1.5, float("nan")])
def test_a_threshold_that_cannot_work_is_refused(threshold):
    with pytest.raises(ConfigError, match="alignment threshold: expected above 0, at most 1; got"):
        AlignmentErrors(copier(), PAIRS, [], threshold)


def test_a_model_without_attention_has_nothing_to_align():
    model = copier()
    model.model.decoder.attends = False
    with pytest.raises(ConfigError, match="expected a model with attention"):
        AlignmentErrors(model, PAIRS, [])


def test_gold_files_are_checked_against_the_pairs(tmp_path):
    file = tmp_path / "gold.txt"
    file.write_text("0-0 2-1\n0?0\n\n1-0\n", encoding="utf-8")
    assert read_gold(str(file), PAIRS) == gold("0-0 2-1", "0?0", "", "1-0")
    with pytest.raises(DataError, match=r"gold.txt: expected a line for each of the 3 pairs scored; got 4"):
        read_gold(str(file), PAIRS[:3])
    for line, message in (
        ("0-0 0-1", r"got 0-1; words"),
        ("1p0", "got 1-0; words"),
        ("0~0", "expected links"),
    ):
        file.write_text(f"0-0\n{line}\n\n\n", encoding="utf-8")
        with pytest.raises(DataError, match=rf"gold.txt:2: .*{message}"):
            read_gold(str(file), PAIRS)
