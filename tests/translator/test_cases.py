"""Failure kinds from public reports that need a whole translator: DEC-20, DEC-22, DEC-24."""

import itertools

import pytest

from tests.translators import KINDS, Copier, Reader, make
from transduce.config import validate
from transduce.errors import ConfigError, DataError
from transduce.experiment import Experiment
from transduce.model import Seq2Seq
from transduce.translator import Translator


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("unchecked")
def test_DEC_20_a_line_of_3000_tokens_is_translated_and_harms_no_other(kind: str) -> None:
    model = make(kind)
    search = model.searcher(width=2, max_length={"ratio": 0.0, "plus": 4})
    texts = ["abc", "abcdefghijkl" * 250, "cb"]
    results = model.translate(texts, search=search, attention=False)
    assert [len(result.source_tokens) for result in results] == [4, 3001, 3]
    assert all(result.tokens for result in results)
    for row in (0, 2):
        (alone,) = model.translate([texts[row]], search=search, attention=False)
        assert alone.tokens == results[row].tokens
        assert alone.score == pytest.approx(results[row].score, abs=1e-9)


def test_DEC_20_attention_by_position_says_what_is_too_long() -> None:
    model = make("gru+additive")
    settings = model.experiment.model_dump()
    settings["model"]["decoder"] |= {
        "attend": "after",
        "attention": {"name": "location", "max_source_length": 50},
    }
    experiment = validate(Experiment, settings, "test")
    built = experiment.model.build(model.source_tokenizer.vocab_size, model.target_tokenizer.vocab_size)
    located = Translator(experiment, model.source_tokenizer, model.target_tokenizer, built.double())
    assert len(located.translate(["a", "abc"])) == 2
    with pytest.raises((ConfigError, DataError, ValueError), match=r"50.*3001|3001.*50"):
        located.translate(["a", "abcdefghijkl" * 250, "b"])


def copier() -> Translator:
    model = make("gru+additive", tokenizer="word")
    model.model = Seq2Seq(Reader(), Copier(model.target_tokenizer.vocab_size))
    return model


def test_DEC_22_300_tokens_fit_the_default_limit() -> None:
    model, text = copier(), " ".join("abcdefghij" * 30)
    search = model.searcher(max_length={"ratio": 2.0, "plus": 50})  # the default of an experiment
    assert model.translate(text, search=search, attention=False).text == text
    assert not list(model.notes.lines())


@pytest.mark.parametrize("limit", [1, 100, 299])
def test_DEC_22_what_is_cut_says_so(limit: int) -> None:
    model, text = copier(), " ".join("abcdefghij" * 30)
    search = model.searcher(width=1, max_length={"ratio": 0.0, "plus": limit})
    results = model.translate([text, "a", text], search=search, attention=False)
    assert [result.finished for result in results] == [False, True, False]
    assert [len(result.tokens) for result in results] == [limit, 2, limit]
    assert results[0].plain()["finished"] is False
    (remark,) = model.notes.lines()
    assert remark.startswith("2 outputs did not end at the maximum length")
    assert "search.max_length" in remark


@pytest.mark.parametrize("kind", [*KINDS, "none"])
@pytest.mark.usefixtures("unchecked")
def test_DEC_24_every_cell_of_the_grid_works_or_names_its_options(kind: str) -> None:
    """architecture × search × width × n_best × attention × replace_unk, on three lines."""
    model = make("gru+additive" if kind == "none" else kind)
    if kind == "none":
        settings = model.experiment.model_dump()
        settings["model"]["decoder"]["attention"] = {"name": "none"}
        experiment = validate(Experiment, settings, "test")
        sizes = model.source_tokenizer.vocab_size, model.target_tokenizer.vocab_size
        built = experiment.model.build(*sizes).double()
        model = Translator(experiment, model.source_tokenizer, model.target_tokenizer, built)
    searches = {"greedy": {"width": 1}, "beam": {"width": 4}, "sampling": {"name": "sampling"}}
    for name, n_best, attention, replace in itertools.product(searches, (1, 2), (False, True), (False, True)):
        wide = (name, n_best) == ("greedy", 2)
        blind = kind == "none" and replace
        if wide or blind:
            message = "n_best 2, width 1$" if wide else "^replace_unk: expected a model with attention.*$"
            with pytest.raises(ConfigError, match=message):
                model.translate(
                    "abc", search=model.searcher(n_best=n_best, **searches[name]), replace_unknown=replace
                )
            continue
        search = model.searcher(n_best=n_best, **searches[name])
        results = model.translate(
            ["abc", "", "g"], search=search, attention=attention, replace_unknown=replace
        )
        assert [result.source for result in results] == ["abc", "", "g"]
        assert all((result.attention is not None) == attention for result in results)
