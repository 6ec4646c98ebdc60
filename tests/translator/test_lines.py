"""What is asked of each line: prefixes, phrases to hold, phrases to lack, lengths."""

import itertools
import random
from typing import Any

import pytest
import torch

from tests.search.models import LETTERS, translator
from tests.translators import KINDS, lines, make
from transduce.config import validate
from transduce.errors import ConfigError, DataError, ModelError
from transduce.experiment import Experiment
from transduce.search import MaxLength, MinLength
from transduce.translation import Translation
from transduce.translator import Line, Translator
from transduce.translator.lines import ask, banned_phrases, count, filled, numbered, room

pytestmark = pytest.mark.usefixtures("unchecked")  # for speed: shapes are checked elsewhere
MODELS = ("gru+additive", "lstm+dot", "gru+multihead")


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Translator:
    return translator(request.param, 3, torch.float64, ending=1.0)


def outputs(results: list[Translation]) -> list[str]:
    return [best.text for result in results for best in result.n_best or [result]]


def test_outputs_begin_with_their_prefix(model: Translator) -> None:
    texts, prefix = ["abc", "", "g", "ddef"], ["a b", "c", "", "g g g"]
    results = model.translate(texts, search=model.searcher(width=4, n_best=3), prefix=prefix)
    assert [result.source for result in results] == texts
    assert results[1].text == ""
    for result, start in zip(results, prefix, strict=True):
        for best in result.n_best:
            assert best.text.split(" ")[: len(start.split())] == start.split()
            assert best.log_prob == pytest.approx(sum(best.token_log_probs))
    one = model.translate("abc", prefix="a b", search=model.searcher(width=4, n_best=3))
    assert outputs([one]) == outputs(results[:1])
    assert outputs([model.translate("g")]) == outputs(model.translate(["g"], prefix=[""]))


def test_a_score_is_the_forced_one_under_every_control(model: Translator) -> None:
    """`log_prob` is the model's own: the log-probability that `score` gives the text."""
    search = model.searcher(
        width=4,
        n_best=2,
        repetition_penalty=1.5,
        no_repeat_ngram=3,
        coverage_penalty=0.2,
        without=["a b"],
        min_length={"plus": 1},
    )
    texts = ["abc", "defg", "aab"]
    found = [best for r in model.translate(texts, search=search, prefix=["b", "a", ""]) for best in r.n_best]
    finished = [best for best in found if best.finished]
    assert finished
    scores = model.score([best.source for best in finished], [best.text for best in finished])
    assert [best.log_prob for best in finished] == pytest.approx(scores, abs=1e-9)


def test_outputs_hold_and_lack_phrases(model: Translator) -> None:
    texts = ["abc", "g", "ddef", "bb"]
    phrases = [["a b", "c"], [], ["g g"], ["b", "d e f"]]
    search = model.searcher(width=5, n_best=5, without=["b a", "c c"])
    for result, held in zip(model.translate(texts, search=search, phrases=phrases), phrases, strict=True):
        assert result.n_best
        for best in result.n_best:
            assert all(f" {phrase} " in f" {best.text} " for phrase in held)
            assert "b a" not in best.text
            assert "c c" not in best.text
    free = model.translate(texts, search=model.searcher(width=5))
    assert outputs(model.translate(texts, search=model.searcher(width=5), phrases=[[]] * 4)) == outputs(free)


def test_lengths_are_kept(model: Translator) -> None:
    search = model.searcher(
        width=2, min_length={"ratio": 1.0, "plus": 1}, max_length={"ratio": 1.0, "plus": 2}
    )
    for text in ("a", "abc", "abcdefg"):
        result = model.translate(text, search=search)
        assert len(text) + 1 <= len(result.text.split(" ")) <= len(text) + 2


def test_the_maximum_length_gives_way_to_what_is_asked(model: Translator) -> None:
    search = model.searcher(width=3, max_length={"ratio": 0.0, "plus": 1})
    result = model.translate("a", search=search, prefix="c d", phrases=["e f g"])
    assert result.text == "c d e f g"
    plain = ask([Line(0, "a")], [1], model.target_tokenizer, search)
    assert room(plain, torch.tensor([7])).tolist() == [7]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"prefix": ["a", "zork b"]}, "line 2: prefix 'zork b': .*'zork' was never a target"),
        ({"phrases": [["a"], ["b", "c zork"]]}, "line 2: phrase 'c zork': .*'zork' was never a target"),
        (
            {"phrases": [["a", " "], []]},
            r"line 1: phrase: expected at least one token in each; got \['a', ' '\]",
        ),
        ({"prefix": ["a"]}, "prefix: expected one for each of the 2 texts; got 1"),
        ({"prefix": "ab"}, "prefix: expected one for each of the 2 texts; got 'ab'"),
        ({"phrases": [[], [], []]}, "phrases: expected one for each of the 2 texts; got 3"),
        (
            {"prefix": ["a", "f g g"]},
            "line 2: 'f g g' is asked for and holds 'g g', which search.without bans",
        ),
        ({"phrases": [["g g"], []]}, "line 1: 'g g' is asked for and holds 'g g'"),
    ],
)
def test_what_cannot_be_is_refused_naming_the_line(asked: dict[str, Any], message: str) -> None:
    model = translator("gru+additive", 3, torch.float64)
    with pytest.raises(DataError, match=message):
        model.translate(["abc", "d"], search=model.searcher(width=3, without=["g g"]), **asked)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 1}, "phrases with width 1"),
        ({"name": "sampling"}, "phrases with search 'sampling'"),
        ({"width": 4, "groups": 2, "diversity": 0.5}, "groups 2"),
    ],
)
def test_phrases_are_refused_by_searches_that_cannot_promise_them(
    options: dict[str, Any], message: str
) -> None:
    model = translator("gru+additive", 3, torch.float64)
    search = model.searcher(**options)
    with pytest.raises(ConfigError, match=message):
        model.translate("abc", search=search, phrases=["a"])
    assert (
        model.translate("abc", search=search, phrases=[]).text == model.translate("abc", search=search).text
    )


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("bad", [0, 2, 4])
def test_what_stands_before_a_faulty_line_is_translated(batch_size: int, bad: int) -> None:
    """Whatever is wrong with a line, such as a prefix that cannot be said, or a model's NaN."""
    model = translator("gru+additive", 3, torch.float64)
    texts = ["abcdefgh", "ab", "c", "def", "abcd", "a"]
    prefix = ["" if place != bad else "☃" for place in range(len(texts))]
    results = model.stream(numbered(texts, prefix), batch_size=batch_size)
    found = []
    with pytest.raises(DataError, match=f"^line {bad + 1}: prefix"):
        found.extend(results)  # which keeps what came before the error
    assert [one.text for one in found] == [one.text for one in model.translate(texts[:bad])]


def test_a_line_that_leaves_a_search_nothing_to_say_is_named() -> None:
    model = translator("gru+additive", 3, torch.float64)
    search = model.searcher(no_repeat_ngram=1, min_length={"ratio": 3.0}, max_length={"ratio": 3.0})
    with pytest.raises(ModelError, match=r"^line 2: search: no hypothesis"):
        model.translate(["ab", "abcdefghijkl", "c"], search=search)
    assert len(model.translate(["ab", "c"], search=search)) == 2


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"phrases": "cba"}, "line 1: phrases: expected a list of texts; got 'cba'"),
        ({"phrases": [3]}, "line 1: phrases: expected a list of texts"),
        ({"prefix": ["9"]}, "line 1: prefix: expected a text"),
    ],
)
@pytest.mark.usefixtures("unchecked")  # by annotations, as calls of a user are
def test_one_text_takes_one_prefix_and_a_list_of_phrases(asked: dict[str, Any], message: str) -> None:
    model = translator("gru+additive", 3, torch.float64)
    with pytest.raises(DataError, match=message):
        model.translate("abc", search=model.searcher(width=4), **asked)
    with pytest.raises(DataError, match=message):
        several: dict[str, Any] = {name: [value] for name, value in asked.items()}
        model.translate(["abc"], search=model.searcher(width=4), **several)


def test_searchers_keep_what_the_experiment_says_and_refuse_the_rest() -> None:
    model = translator("gru+additive", 1, torch.float32)
    sampling = model.searcher(name="sampling", temperature=0.5, n_best=3)
    assert (sampling.n_best, sampling.max_length) == (3, MaxLength())
    assert model.searcher(min_length={"plus": 3}, width=2).width == 2
    assert model.searcher(min_length=MinLength(plus=3)).width == 5
    for options, message in (
        ({"widht": 2}, "unknown key 'widht'; did you mean 'width'"),
        ({"name": "sampling", "width": 2}, "unknown key 'width'"),
        ({"name": "beem"}, "unknown search 'beem'; did you mean 'beam'"),
        ({"width": "many"}, "width: expected .*; got 'many'"),
    ):
        with pytest.raises(ConfigError, match=message):
            model.searcher(**options)


def test_distinct_strings_differ_as_texts() -> None:
    """A subword tokenizer spells one text in several ways; each comes once, with its best spelling."""
    model = subword()
    texts = ["abc", "ba", "cab"]
    tokens = model.translate(texts, search=model.searcher(width=80, n_best=80))
    strings = model.translate(texts, search=model.searcher(width=80, n_best=40, distinct="strings"))
    collisions = 0
    for many, few in zip(tokens, strings, strict=True):
        every = [best.text for best in many.n_best]
        collisions += len(every) - len(set(every))
        assert len({tuple(best.tokens) for best in many.n_best}) == len(many.n_best)
        assert [best.text for best in few.n_best] == list(dict.fromkeys(every))[:40]
        for best in few.n_best:
            first = next(other for other in many.n_best if other.text == best.text)
            assert best.score == first.score
    assert collisions > 3


def subword() -> Translator:
    """Characters in, pieces out, among them "ab" beside "a" and "b"."""
    settings = {
        "data": {"train": "never read.tsv"},
        "tokenizer": {"target": {"name": "bpe", "vocab_size": 10}},
        "model": {"encoder": {"width": 6}, "decoder": {"width": 6}},
        "search": {"max_length": {"ratio": 0, "plus": 3}},
    }
    experiment = validate(Experiment, settings, "test")
    source, target = experiment.tokenizer.source.build(), experiment.tokenizer.target.build()
    source.fit([LETTERS])
    target.fit(["abab ab bca bca abc"] * 3)
    torch.manual_seed(1)
    return Translator(
        experiment, source, target, experiment.model.build(source.vocab_size, target.vocab_size).double()
    )


def test_a_banned_phrase_of_pieces_is_banned_after_a_space_too() -> None:
    model = subword()
    banned = banned_phrases(["ab"], model.target_tokenizer)
    assert len(banned) == 2
    assert [model.target_tokenizer.decode(ids) for ids in banned] == ["ab", " ab"]
    assert banned_phrases(["zork"], model.target_tokenizer) == []  # cannot be said anyway


def test_lines_are_numbered_from_where_they_lie() -> None:
    assert numbered(["x", "y"], first=7) == [Line(7, "x", "", ()), Line(8, "y", "", ())]
    assert list(count(["x", Line(5, "y")])) == [Line(0, "x"), Line(5, "y")]


def test_lists_are_filled_up_on_either_side() -> None:
    rows = [[[5, 6], [7]], [[8]]]
    assert filled(rows).tolist() == [[[5, 6], [7, -1]], [[8, -1], [-1, -1]]]
    assert filled(rows, right=False).tolist() == [[[5, 6], [-1, 7]], [[-1, 8], [-1, -1]]]
    assert filled([[], []]).shape == (2, 0, 0)


CONTROLS: dict[str, dict[str, Any]] = {
    "coverage": {"coverage_penalty": 0.3},
    "rules": {"min_length": {"plus": 2}, "no_repeat_ngram": 2, "repetition_penalty": 1.3, "without": ["ab"]},
    "groups": {"groups": 5, "diversity": 0.5},
    "sampling": {"name": "sampling", "temperature": 1.2, "top_p": 0.9, "seed": 5},
    "phrases": {},
}


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_best", [1, 5])
def test_BAT_01_no_control_makes_results_depend_on_the_batch(kind: str, n_best: int, control: str) -> None:
    """Batch sizes 1, 7 and 64, mixed wishes: texts equal, scores to 1e-9; greedy, and 5 best of 5."""
    model, texts, rng = make(kind), lines(10), random.Random(control)
    wide = control in ("phrases", "groups") or n_best > 1
    sizes = {} if control == "sampling" else {"width": 5 if wide else 1}
    search = model.searcher(n_best=n_best, **sizes, **CONTROLS[control])
    phrases = [rng.choice([[], ["c"], ["ed", "f"]]) if control == "phrases" else [] for _ in texts]
    wishes = {"prefix": [rng.choice(["", "", "c", "bd"]) for _ in texts], "phrases": phrases}
    one_by_one, *others = (
        model.translate(texts, batch_size=size, search=search, attention=False, **wishes)
        for size in (1, 7, 64)
    )
    assert len(set(outputs(one_by_one))) > 4
    for together, lone in itertools.product(others, range(len(texts))):
        found, expected = together[lone], one_by_one[lone]
        for one, other in zip([found, *found.n_best], [expected, *expected.n_best], strict=True):
            assert (one.text, one.tokens, one.finished) == (other.text, other.tokens, other.finished)
            assert one.score == pytest.approx(other.score, abs=1e-9)
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-9)


def test_samples_depend_on_the_place_in_the_whole_input(model: Translator) -> None:
    search = model.searcher(name="sampling", seed=3)
    texts = ["abc", "", "dd", "efg", "abc"] * 4
    whole = outputs(model.translate(texts, search=search))
    halves = [*numbered(texts[:7]), *numbered(texts[7:], first=7)]
    assert [result.text for result in model.stream(iter(halves), search=search, batch_size=3)] == whole
    assert outputs(model.translate(texts, search=search)) == whole
    assert outputs(model.translate(texts, search=model.searcher(name="sampling", seed=4))) != whole
