"""Unknown tokens put back as what was read, and word alignments."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.translators import Copier, Reader, make
from transduce.config import validate
from transduce.errors import ConfigError, DataError
from transduce.experiment import Experiment
from transduce.model import Seq2Seq
from transduce.translation import Translation
from transduce.translator import Translator
from transduce.translator.links import word_links
from transduce.translator.unknown import decode_with, read_dictionary, replacements
from transduce.types import EOS, UNK, Encoded, Output, Source


class Baffled(Copier):
    """Says that it does not know, once for each source token, looking at that token (or a place after it)."""

    def __init__(self, vocab_size: int, shift: int = 0) -> None:
        super().__init__(vocab_size)
        self.shift = shift

    def init(self, source: Source, encoded: Encoded) -> tuple[Any, Any]:
        said = source.tokens.where(source.tokens == EOS, UNK)
        return (said,), (torch.zeros(len(said), dtype=torch.long),)

    def step(self, memory: Any, state: Any, token: Tensor, *, weights: bool = False) -> tuple[Any, Output]:
        state, output = super().step(memory, state, token, weights=weights)
        if output.weights is None:
            return state, output
        weak = 0.1 * torch.arange(output.weights.shape[-1]).flip(0) / output.weights.shape[-1]
        return state, output._replace(weights=output.weights.roll(self.shift, dims=-1) + weak)


def baffled(tokenizer: str, shift: int = 0, *, source_eos: bool = True) -> Translator:
    """A translator that knows of "a" and "b" alone, on both sides, and had unknown targets in training."""
    kind = {"name": tokenizer, "max_size": 2}
    tree = {"data": {"train": "never read.tsv"}, "tokenizer": {"source": kind, "target": kind}}
    tree |= {"model": {"source_eos": source_eos}}
    experiment = validate(Experiment, tree, "test")
    fitted = experiment.tokenizer.source.build()
    fitted.fit(["a b", "a b"] if tokenizer == "word" else ["ab", "ab"])
    model = Seq2Seq(Reader(), Baffled(fitted.vocab_size, shift))
    return Translator(experiment, fitted, fitted, model)


@pytest.mark.parametrize("beam", [1, 3])
def test_DEC_17_unknown_words_become_the_source_words_of_the_raw_text(beam: int) -> None:
    model = baffled("word")
    search = model.searcher(width=beam, n_best=beam)
    for text in ("zork a", "a zork", "zork", "<unk> </s> zork", "ఒకటి zork a"):
        assert model.translate(text, search=search).text == " ".join(["<unk>"] * len(text.split(" ")))
        result = model.translate(text, search=search, replace_unknown=True)
        assert result.text == text
        assert result.tokens == [*text.split(" "), "</s>"]
        assert result.attention.shape == (len(result.tokens), len(result.source_tokens))


def test_DEC_17_characters_are_put_back_too() -> None:
    model = baffled("char")
    for text in ("zb", "క్షి!", "a <unk>"):
        assert model.translate(text, replace_unknown=True).text == text


def test_DEC_17_a_word_that_looks_like_the_end_is_put_back_where_sources_have_no_end() -> None:
    model = baffled("word", source_eos=False)
    found = model.translate("</s>", replace_unknown=True)
    words = found.text.split(" ")
    assert set(words) == {"</s>"}
    assert found.tokens == words + ["</s>"] * found.finished
    found = dataclasses.replace(found, tokens=words, finished=False, attention=np.ones((len(words), 1)))
    assert {target for _, target in word_links(found, model.source_tokenizer)} == set(range(len(words)))


def test_DEC_17_texts_that_differ_do_so_after_words_are_put_back() -> None:
    model = baffled("word")
    search = model.searcher(width=3, n_best=3, distinct="strings")
    found = model.translate("zork <unk>", search=search, replace_unknown=True)
    texts = [one.text for one in found.n_best]
    assert len(set(texts)) == len(texts) > 1


def test_DEC_17_a_peak_on_the_end_gives_the_best_real_token() -> None:
    """Shifted by one, the last token looks at </s>: the first has the most of what is left."""
    assert baffled("word", shift=1).translate("p q r", replace_unknown=True).text == "q r p"


def test_DEC_17_a_dictionary_translates_what_is_put_back(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("zork\tgrue\nzork\tnever\na\tA B\n", encoding="utf-8")
    words = read_dictionary(str(tmp_path / "words.tsv"))
    assert words == {"zork": "grue", "a": "A B"}
    model = baffled("word")
    assert model.translate("zork frob a", replace_unknown=words).text == "grue frob A B"
    assert model.translate("zork", replace_unknown={}).text == "zork"
    assert model.translate("zork", replace_unknown=False).text == "<unk>"


@pytest.mark.parametrize("line", ["zork", "zork\t", "\tgrue", "a\tb\tc", ""])
def test_a_dictionary_line_that_is_no_pair_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "words.tsv"
    path.write_text(f"a\tb\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"words.tsv:2: expected source word, tab, target word; got"):
        read_dictionary(str(path))


def test_known_tokens_stay_and_texts_are_joined_as_they_were() -> None:
    tokenizer = baffled("word").target_tokenizer
    ids = [UNK, 4, UNK, UNK, 5]
    attention = np.eye(6)[[2, 0, 0, 5, 1, 4]]
    replaced = replacements(ids, attention, ["x", "y", "z w"], {})
    assert replaced == {0: "z w", 2: "x", 3: "x"}  # the peak of the fourth is on no real token
    assert decode_with(ids, replaced, tokenizer) == "z w a x x b"
    assert decode_with([4, 5], {}, tokenizer) == "a b"
    assert replacements([4], np.ones((1, 2)), ["x", "y"], {}) == {}
    assert replacements([UNK], np.ones((1, 2)), [" cat"], {"cat": "chat"}) == {0: "chat"}


def without_attention() -> Translator:
    model = make("gru+additive")
    settings = model.experiment.model_dump()
    settings["model"]["decoder"]["attention"] = {"name": "none"}
    experiment = validate(Experiment, settings, "test")
    built = experiment.model.build(model.source_tokenizer.vocab_size, model.target_tokenizer.vocab_size)
    return Translator(experiment, model.source_tokenizer, model.target_tokenizer, built.double())


class Refusing(nn.Module):
    """Says that it has no attention, and cannot run: nothing may before an option is refused."""

    attends = False


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replace_unknown": True}, "^replace_unk: expected a model with attention.* attention 'none'$"),
        ({"coverage": 0.2}, "^coverage_penalty: expected a model with attention"),
        ({"coverage": 0.2, "replace_unknown": True}, "^coverage_penalty and replace_unk: expected"),
    ],
)
def test_DEC_24_what_reads_attention_is_refused_without_it(options: dict[str, Any], message: str) -> None:
    model = without_attention()
    search = model.searcher(coverage_penalty=options.pop("coverage", 0.0))
    assert model.translate("abc").text is not None
    model.model = Refusing()  # type: ignore[assignment]
    with pytest.raises(ConfigError, match=message):
        model.translate("abc", search=search, **options)
    with pytest.raises(ConfigError, match="--alignments: expected a model with attention"):
        model.check_attention("--alignments")


def test_word_links_follow_the_attention() -> None:
    model = make("gru+additive", tokenizer="word")
    model.model = Seq2Seq(Reader(), Copier(model.target_tokenizer.vocab_size))
    assert model.word_links(model.translate("a b c")) == {(0, 0), (1, 1), (2, 2)}
    assert model.word_links(model.translate("")) == set()
    with pytest.raises(ValueError, match="got one without"):
        model.word_links(model.translate("a", attention=False))


def test_word_links_sum_characters_into_words() -> None:
    tokenizer = make("gru+additive").source_tokenizer
    weights = np.zeros((5, 6))
    weights[[0, 1, 2, 3], [3, 4, 0, 1]] = 1.0  # "ab c" read as "de": two letters of the second word, one
    told = Translation("ab cd", "ef g", tokens=["e", "f", " ", "g", "</s>"], attention=weights)
    assert word_links(told, tokenizer) == {(1, 0), (0, 1)}
