"""Several runs as one translator."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import transduce
from tests import translators
from transduce.errors import CheckpointError, ConfigError
from transduce.translator import Translator, join
from transduce.translator.differences import first_difference

LINES = ["abc", "kkl", "", "aaghi", "f"]
EXACT = {"abs": 1e-9}


def made(kind: str, seed: int, tokenizer: str = "char") -> Translator:
    return translators.make(kind, torch.float64, tokenizer, seed)


def shuffled(kind: str, seed: int) -> Translator:
    """A model that reads letters by other ids, in code points, and no end."""
    one = made(kind, seed)
    settings = one.experiment.model_copy(
        update={"model": one.experiment.model.model_copy(update={"source_eos": False})}
    )
    source = settings.tokenizer.source.build()
    source.fit(translators.ALPHABET[::-1])
    return Translator(settings, source, one.target_tokenizer, one.model)


def saved(folder: Path, translator: Translator) -> Path:
    translator.model.float()
    translator.save(folder)
    return folder


@pytest.mark.parametrize("mean", ["probabilities", "log_probabilities"])
def test_a_run_with_itself_is_the_run(tmp_path, mean):
    run = saved(tmp_path / "a", made("gru+additive", 1))
    one, twice = transduce.load(run), transduce.load(run, run, run, mean=mean, weights=[1.0, 2.0, 3.0])
    for alone, together in zip(one.translate(LINES), twice.translate(LINES), strict=True):
        assert (alone.text, alone.tokens) == (together.text, together.tokens)
        assert alone.score == pytest.approx(together.score, abs=1e-4)
        assert together.attention == pytest.approx(alone.attention, abs=1e-5)
    assert twice.experiment.name == "run + run + run"
    assert twice.others == []


def test_scores_are_the_definitions_whatever_each_reads():
    members = [made("gru+additive", 1), shuffled("lstm+dot", 2), shuffled("gru+multihead", 4)]
    ensemble = join(["a", "b", "c"], members, "probabilities", [0.5, 0.3, 0.2])
    assert ensemble.model.reads == [0, 1, 1]
    assert len(ensemble.others) == 1
    for result in ensemble.translate(LINES, search=ensemble.searcher(n_best=3)):
        for best in result.n_best if result.source else []:
            assert best.log_prob == pytest.approx(sum(best.token_log_probs), **EXACT)
            if best.finished and "<" not in best.text:
                (forced,) = ensemble.score([best.source], [best.text])
                assert best.log_prob == pytest.approx(forced, **EXACT)
            first = [one.score([best.source], [""])[0] for one in members]
            expected = math.log(sum(w * math.exp(x) for w, x in zip([0.5, 0.3, 0.2], first, strict=True)))
            assert ensemble.score([best.source], [""])[0] == pytest.approx(expected, **EXACT)
            assert best.attention is not None
            assert best.attention.shape == (len(best.tokens), len(best.source_tokens))


def test_the_batch_changes_nothing_for_members_that_read_otherwise():
    ensemble = join(["a", "b"], [made("lstm+dot", 5), shuffled("gru+additive", 6)])
    apart = ensemble.translate(LINES, batch_size=1)
    for one, other in zip(apart, ensemble.translate(LINES, batch_size=4), strict=True):
        assert (one.text, one.source_tokens) == (other.text, other.source_tokens)
        assert one.score == pytest.approx(other.score, **EXACT)
        assert one.attention == pytest.approx(other.attention, abs=1e-9)
    sources, targets = ["kkl", "abc", "f"], ["cc", "a", "bb"]
    alone = [ensemble.score([s], [t])[0] for s, t in zip(sources, targets, strict=True)]
    assert ensemble.score(sources, targets) == pytest.approx(alone, **EXACT)


def test_the_second_member_is_really_asked():
    one, other = made("gru+additive", 1), shuffled("gru+additive", 9)
    both = join(["a", "b"], [one, other], weights=[0.0, 1.0])
    assert [r.text for r in both.translate(LINES)] == [r.text for r in other.translate(LINES)]
    assert [r.text for r in both.translate(LINES)] != [r.text for r in one.translate(LINES)]


def test_other_target_vocabularies_are_refused_naming_both_and_the_first_difference(tmp_path):
    one, other = made("gru+additive", 1), made("gru+additive", 2)
    other.target_tokenizer.symbols[2] = "Ω"
    runs = [saved(tmp_path / "a", one), saved(tmp_path / "b", other)]
    with pytest.raises(
        ConfigError, match=r"b: expected the target vocabulary of .*a, .* symbols\.2: 'c' against 'Ω'"
    ):
        transduce.load(*runs)
    with pytest.raises(ConfigError, match="tokenizer: 'char' against 'word'"):
        join(["a", "c"], [made("gru+additive", 1), made("gru+additive", 1, "word")])
    with pytest.raises(CheckpointError, match="nowhere: expected a run folder"):
        transduce.load(runs[0], tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="for each of the 2 models"):
        transduce.load(runs[0], runs[0], weights=[1.0])
    with pytest.raises(ConfigError, match="for each of the 1 models"):
        transduce.load(runs[0], weights=[1.0, 2.0])


def test_an_ensemble_is_not_saved_as_a_run(tmp_path):
    both = join(["a", "b"], [made("gru+additive", 1), made("lstm+dot", 2)])
    with pytest.raises(
        ConfigError, match="expected one model to save; got an ensemble of 2; `transduce average`"
    ):
        both.save(tmp_path / "out")


def test_an_ensemble_is_traced_by_one_distribution():
    both = join(["a", "b"], [made("gru+additive", 1), shuffled("lstm+dot", 2)])
    trace, result = both.trace("abc"), both.translate("abc")
    assert trace.text == result.text
    assert {len(layers) for layers in trace.weights} == {len(layers[0]) for layers in trace.weights} == {1}
    assert np.array(trace.weights)[:, 0, 0] == pytest.approx(result.attention, abs=1e-9)


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "a.b.1: 2 against 3"),
        ({"a": [1]}, {"a": [1, 2]}, "a.1: nothing against 2"),
        ({"a": 1, "b": 2}, {"b": 2}, "a: 1 against nothing"),
        ({"b": 2}, {"b": 2, "c": None}, "c: nothing against None"),
        ([1], {"a": 1}, ": [1] against {'a': 1}"),
    ],
)
def test_the_first_difference_is_the_first(one, other, told):
    found = first_difference(one, other)
    assert (found and str(found)) == told
