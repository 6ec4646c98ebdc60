"""The grid of search settings."""

import json

import pytest

from tests import translators
from tests.tiny import settings
from transduce.config import Spec, validate
from transduce.errors import ConfigError
from transduce.experiment import Experiment, load_experiment
from transduce.run.corpus import Corpus
from transduce.run.outputs import decode_pairs
from transduce.run.sweep import combinations, search_with, selection, show, sweep, tuning_pairs
from transduce.search import Search
from transduce.translator import Translator

BASE = Spec(Search, "beam", {"width": 4})


def grid(*swept: str) -> list[dict]:
    return [one.settings for one in combinations(BASE, swept)]


def test_every_combination_stands_once_the_last_key_fastest():
    assert grid("search.width=1,3", "search.policy=top_k,pools,top_k") == [
        {"search.width": width, "search.policy": policy}
        for width in (1, 3)
        for policy in ("top_k", "pools", "top_k")
    ]
    assert grid("search.width=2") == [{"search.width": 2}]


def test_only_outer_commas_part_values():
    found = combinations(BASE, ["search.length_penalty={name: gnmt, alpha: 0.2},none,{alpha: 0.1}"])
    assert [one.settings["search.length_penalty"] for one in found] == [
        {"name": "gnmt", "alpha": 0.2},
        "none",
        {"alpha": 0.1},
    ]
    assert [one.search.plain()["length_penalty"] for one in found] == [
        {"name": "gnmt", "alpha": 0.2},
        {"name": "none"},
        {"name": "average", "alpha": 0.1},
    ]
    assert show(found[0].settings) == "search.length_penalty={name: gnmt, alpha: 0.2}"


def test_settings_are_laid_over_the_runs_search_as_on_the_command_line_of_train():
    for path, value in (
        ("search.width", 7),
        ("search.length_penalty", "gnmt"),
        ("search.max_length.plus", 3),
    ):
        tree = settings(f"{path}={value}", "search.policy=pools")
        expected = load_experiment(tree).search
        base = load_experiment(settings("search.policy=pools")).search
        assert search_with(base, {path: value}, "x") == expected
    two = search_with(BASE, {"search.length_penalty": "gnmt", "search.length_penalty.alpha": 0.9}, "x")
    assert two.plain()["length_penalty"] == {"name": "gnmt", "alpha": 0.9}
    assert two.plain()["width"] == 4


@pytest.mark.parametrize(
    ("swept", "message"),
    [
        ("search.widht=1", "unknown key 'widht'; did you mean 'width'"),
        ("serach.width=1", "unknown key 'serach'; did you mean 'search'"),
        ("train.lr=1", "unknown key 'train'"),
        ("search.width", "expected key.path=value"),
        ("search.width=", "expected at least one value"),
        ("search..width=1", "expected key.path=value"),
        ("=1", "expected key.path=value"),
        ("search.width=1,", "expected"),
        ("search.width=1,x", "search.width: expected integer; got 'x'"),
        ("search.width=0,1", "search.width: expected at least 1; got 0"),
        ("search.width=1]", "expected YAML"),
        ("search.length_penalty=none,gnmtt", "unknown lengthpenalty 'gnmtt'; did you mean 'gnmt'"),
        ("search.n_best=1,9", "expected n_best at most width"),
    ],
)
def test_faults_are_found_before_anything_is_decoded(swept, message):
    if swept == "search.width=1,":  # YAML lets a last comma be
        assert grid(swept) == [{"search.width": 1}]
        return
    with pytest.raises(ConfigError) as caught:
        combinations(BASE, ["search.policy=top_k", swept])
    assert message in str(caught.value)
    with pytest.raises(ConfigError, match="each key once"):
        combinations(BASE, ["search.width=1", "search.width=2"])


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Translator:
    """A random model whose dev data are a file, and whose targets a beam finds better than greedy search."""
    made = translators.make("gru+additive")
    texts = translators.lines(12)
    wide = made.translate(texts, search=made.searcher(width=8), attention=False)
    folder = tmp_path_factory.mktemp("sweep")
    for part in ("dev", "test"):
        rows = (f"{one.source}\t{one.text}\n" for one in wide if one.text)
        (folder / part).write_text("".join(rows), encoding="utf-8")
    tree = {
        "name": "random",
        "data": {"train": str(folder / "dev"), "dev": str(folder / "dev"), "test": str(folder / "test")},
        "model": made.experiment.model.model_dump(),
        "search": {"max_length": {"ratio": 1, "plus": 6}},
    }
    experiment = validate(Experiment, tree, "test")
    return Translator(experiment, made.source_tokenizer, made.target_tokenizer, made.model)


def test_each_combination_is_decoded_and_scored_and_the_best_marked(model):
    said: list[str] = []
    found = sweep(
        model,
        combinations(model.experiment.search, ["search.width=1,8,8"]),
        metrics=["exact_match", "cer"],
        say=said.append,
    )
    assert set(json.loads(json.dumps(found))) == {"examples", "data", "select", "sweep", "model"}
    assert (found["data"], found["select"], found["model"]) == ("data.dev", "exact_match", "random")
    assert [row["settings"]["search.width"] for row in found["sweep"]] == [1, 8, 8]
    assert [row["best"] for row in found["sweep"]] == [False, True, False]  # of equals the first
    pairs = tuning_pairs(model.experiment, None, print)
    assert found["examples"] == len(pairs)
    for row in found["sweep"]:
        search = model.searcher(width=row["search"]["width"])
        scores = decode_pairs(model, pairs, search).measure(["exact_match", "cer"])
        assert {name: score["value"] for name, score in row["metrics"].items()} == {
            name: score.value for name, score in scores.items()
        }
    assert found["sweep"][1]["metrics"]["exact_match"]["value"] == 1.0
    assert found["sweep"][0]["metrics"]["exact_match"]["value"] < 1.0
    assert said[0] == f"3 searches of {len(pairs)} lines of data.dev, to choose by exact_match"
    assert said[2] == "2 of 3: search.width=8  exact_match 1.0000"
    assert len(said) == 4


def test_where_less_is_better_the_least_is_best(model):
    found = sweep(model, combinations(model.experiment.search, ["search.width=8,1"]), select="cer")
    assert [row["best"] for row in found["sweep"]] == [True, False]
    assert found["sweep"][0]["metrics"]["cer"]["value"] == 0


def test_a_file_is_swept_if_it_is_named_and_test_data_with_a_word(model, tmp_path):
    said: list[str] = []
    (tmp_path / "own.tsv").write_text("abc\tcba\n", encoding="utf-8")
    assert tuning_pairs(model.experiment, str(tmp_path / "own.tsv"), said.append) == [("abc", "cba")]
    assert said == []
    test = model.experiment.data.test.options["path"]
    tuning_pairs(model.experiment, test, said.append)
    assert said == [f"{test} is this run's test data: settings chosen on it make its scores too good"]


def surveyed(experiment: Experiment) -> Corpus:
    corpus = Corpus(experiment, lambda line: None)
    corpus.survey()
    return corpus


def test_without_dev_data_the_held_out_pairs_are_swept():
    tree = settings("data.dev=null", "data.test=null")
    experiment = load_experiment(tree)
    said: list[str] = []
    pairs = tuning_pairs(experiment, None, said.append)
    trained = {(row.source, row.target) for row in surveyed(experiment).rows()}
    assert pairs == surveyed(experiment).dev
    assert pairs
    assert not trained & set(pairs)
    assert said == [f"no dev data given: {len(pairs)} training pairs are held out for it"]


def test_what_is_chosen_by():
    def select(*overrides: str) -> Experiment:
        return load_experiment(settings(*overrides))

    assert selection(select("train.select=loss"), None, None) == ("exact_match", None)
    assert selection(select("train.select=bleu"), None, None) == ("bleu", None)
    assert selection(select("train.select=bleu"), None, "wer") == ("wer", None)
    assert selection(select("train.select=bleu"), ["cer"], None) == ("bleu", ["cer", "bleu"])
    assert selection(select("train.select=bleu"), ["cer", "bleu"], "cer") == ("cer", ["cer", "bleu"])
    with pytest.raises(ConfigError, match="select: unknown metric 'blue'; did you mean 'bleu'"):
        selection(select(), None, "blue")
    with pytest.raises(ConfigError, match="select: unknown metric 'loss'"):
        selection(select(), None, "loss")
