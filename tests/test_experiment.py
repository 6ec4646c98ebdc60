"""The schema of one experiment: files, recipes, mappings, overrides, and the paths in them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.tiny import SETTINGS, settings
from transduce import recipes
from transduce.config import Spec, dump_yaml, parse_yaml, validate
from transduce.data.pairs import PairSource
from transduce.data.sources.parallel import ParallelFiles
from transduce.data.sources.tsv import TsvFile
from transduce.errors import ConfigError
from transduce.experiment import Experiment, expand, families, load_experiment


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def fails(config: Any, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_experiment(config, overrides)
    return str(caught.value)


def options(spec: Spec[PairSource] | None) -> dict[str, Any]:
    assert spec is not None
    return spec.options


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_paths_in_a_file_start_from_it_and_overrides_from_the_working_folder(here):
    config = write(here / "project/exp.yaml", "data: {train: t.tsv, dev: {source: d/a, target: ../b}}")
    data = load_experiment(config, ["data.test=mine.tsv"]).data
    assert options(data.train) == {"path": str(here / "project/t.tsv")}
    assert options(data.dev) == {"source": str(here / "project/d/a"), "target": str(here / "b")}
    assert options(data.test) == {"path": str(here / "mine.tsv")}
    assert load_experiment("project/exp.yaml").data == load_experiment(config).data


def test_absolute_and_home_paths_stay_where_they_point(here, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    config = write(here / "a/exp.yaml", "data: {train: /data/t.tsv, dev: ~/d.tsv}")
    data = load_experiment(config).data
    assert options(data.train) == {"path": "/data/t.tsv"}
    assert options(data.dev) == {"path": "/home/ada/d.tsv"}


def test_a_name_that_begins_with_a_tilde_is_a_name(here):
    config = write(here / "a/exp.yaml", "data: {train: ~draft.tsv}")
    assert load_experiment(config).data.train.options["path"] == str(here / "a/~draft.tsv")


def test_paths_of_a_mapping_and_of_a_recipe_start_from_the_working_folder(here):
    assert options(load_experiment({"data": {"train": "t.tsv"}}).data.train) == {"path": str(here / "t.tsv")}
    assert options(load_experiment("g2p").data.train) == {"path": str(here / "train.tsv")}


PARALLEL = ("parallel", {"source": "a", "target": "b"})


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["data.train=o.tsv"], ("tsv", {"path": "o.tsv"})),
        (["data.train.path=o.tsv"], ("tsv", {"path": "o.tsv"})),
        (["data.train={source: a, target: b}"], PARALLEL),
        (["data.train.source=a", "data.train.target=b"], PARALLEL),
        (["data.train={name: copy_reverse, task: copy}"], ("copy_reverse", {"task": "copy"})),
        (["data.train.name=copy_reverse", "data.train.task=copy"], ("copy_reverse", {"task": "copy"})),
    ],
)
@pytest.mark.parametrize("before", ["t.tsv", "{source: x, target: y}", "{name: copy_reverse, size: 9}"])
def test_overrides_may_say_where_data_comes_from_in_every_form(here, before, overrides, expected):
    config = write(here / "sub/exp.yaml", f"data: {{train: {before}}}")
    found = load_experiment(config, overrides).data.train
    name, given = expected
    assert found.name == name
    for key, value in given.items():
        assert found.options[key] == (value if name == "copy_reverse" else str(here / value))


def test_options_of_made_data_are_no_paths(here):
    assert load_experiment("copy-reverse", ["data.train.task=copy"]).data.train.options["task"] == "copy"


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz"])
def test_json_lines_are_known_by_their_ending(here, ending):
    """As a path alone, as an override of another format, and with columns named."""
    config = write(here / "sub/exp.yaml", f"data: {{train: t{ending}, dev: d.tsv, source_column: en}}")
    data = load_experiment(config, [f"data.dev.path=o{ending}", "data.test=x.tsv"]).data
    assert (data.train.name, options(data.train)) == ("jsonl", {"path": str(here / f"sub/t{ending}")})
    assert data.dev is not None
    assert (data.dev.name, options(data.dev)) == ("jsonl", {"path": str(here / f"o{ending}")})
    assert data.test is not None
    assert data.test.name == "tsv"
    given = {"data": {"train": {"name": "jsonl", "path": "odd.txt"}}}
    assert options(load_experiment(given).data.train) == {"path": str(here / "odd.txt")}


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_a_run_reads_no_standard_input(here, part):
    """Which it could not read again when it goes on: in YAML, as an override, or in Python."""
    config = write(
        here / "exp.yaml", f"data: {{train: t.tsv, {part}: -}}" * (part != "train") or "data: {train: -}"
    )
    for message in (
        fails(config),
        fails({"data": {"train": "t.tsv", part: "-"}}),
        fails({"data": {"train": "t.tsv"}}, f"data.{part}=-"),
        fails({"data": {"train": "t.tsv"}}, f"data.{part}=<stdin>"),
    ):
        assert f"data.{part}: expected a file; got standard input; " in message
        assert message.endswith("reads its data again; write it to a file first")


@pytest.mark.parametrize(
    "data",
    [
        {"train": "pipe"},
        {"train": "link"},
        {"train": "t.tsv", "dev": {"source": "t.tsv", "target": "pipe"}},
        {"train": ["t.tsv", {"path": "pipe", "weight": 2}]},
        {"train": ["t.tsv", "-"]},
        {"train": "t.tsv", "alignments": "pipe"},
        {"train": "/dev/null"},
    ],
)
def test_a_run_reads_nothing_that_can_be_read_only_once(here, data):
    os.mkfifo(here / "pipe")
    (here / "link").symlink_to("pipe")
    message = fails({"data": data})
    *_, part = data
    assert f"data.{part}: expected a file; got " in message
    assert message.endswith("reads its data again; write it to a file first")
    assert any(what in message for what in (", a pipe;", "standard input;", "/dev/null, a device;"))


def test_a_link_to_a_file_is_a_file_and_a_path_without_one_is_left_to_its_reader(here):
    write(here / "t.tsv", "a\tb\n")
    (here / "link").symlink_to("t.tsv")
    for path in ("link", "none", ".", "t.tsv/x"):
        assert options(load_experiment({"data": {"train": path}}).data.train) == {"path": str(here / path)}


def test_a_folder_above_a_link_is_the_one_that_the_system_finds(here):
    """`link/..` is above what the link leads to; a link that ends the path stays one."""
    write(here / "real/deep/t.tsv", "a\tb\n")
    (here / "link").symlink_to("real/deep")
    (here / "real/named.jsonl").symlink_to("deep/t.tsv")
    found = load_experiment({"data": {"train": "link/../t2.tsv", "dev": "link/../named.jsonl"}}).data
    assert options(found.train) == {"path": str(here / "real/t2.tsv")}
    assert options(found.dev) == {"path": str(here / "real/named.jsonl")}
    assert options(load_experiment({"data": {"train": "link/t.tsv"}}).data.train) == {
        "path": str(here / "link/t.tsv")
    }


@pytest.mark.parametrize("value", [5, None, {"size": 3}, {"name": "copy_reverse", "source": "x"}])
def test_only_paths_and_pairs_of_paths_are_short_forms(value):
    assert expand(value) == value


def test_each_part_is_a_source_of_pairs(here):
    data = load_experiment({"data": {"train": "t.tsv", "dev": {"source": "a", "target": "b"}}}).data
    train, dev = data.source("train", 1), data.source("dev", 1)
    assert isinstance(train, TsvFile)
    assert isinstance(dev, ParallelFiles)
    assert data.source("test", 1) is None


def test_columns_reach_the_reader(here):
    write(here / "t.tsv", "en\tx\tte\nred\t1\tఎరుపు\n")
    tree = {"data": {"train": "t.tsv", "source_column": "en", "target_column": 3}}
    assert load_experiment(tree).data.source("train", 1).read().pairs == [("red", "ఎరుపు")]


@pytest.mark.parametrize("name", recipes.texts())
def test_every_recipe_loads_and_says_what_it_is(name):
    experiment = load_experiment(name)
    assert experiment.name == name
    first = recipes.texts()[name].split("\n")[0]
    assert first.startswith("# ")
    assert first.endswith((".", ":"))
    again = validate(Experiment, parse_yaml(dump_yaml(experiment.model_dump()), name), name)
    assert again == experiment


def test_a_file_names_its_experiment_unless_it_does_so_itself(here):
    assert load_experiment(write(here / "my-task.yaml", "data: {train: t.tsv}")).name == "my-task"
    assert load_experiment(write(here / "x.yml", "name: other\ndata: {train: t.tsv}")).name == "other"
    assert load_experiment(write(here / "no-suffix", "data: {train: t.tsv}")).name == "no-suffix"
    assert load_experiment({"data": {"train": "t.tsv"}}).name == "run"
    assert load_experiment("copy-reverse", ["name=mine"]).name == "mine"


def test_defaults_are_those_of_the_design(here):
    experiment = load_experiment({"data": {"train": "t.tsv"}})
    tree = experiment.model_dump()
    assert tree["format"] == 1
    assert tree["seed"] == 1
    assert tree["tokenizer"]["source"]["name"] == "char"
    assert tree["model"]["encoder"]["width"] == tree["model"]["decoder"]["width"] == 256
    train = tree["train"]
    assert (train["batch_pairs"], train["batch_tokens"], train["clip"]) == (32, None, 1.0)
    assert (train["select"], train["patience"], train["updates"]) == ("exact_match", 10, "auto")
    assert train["validation_search"]["width"] == 1
    assert tree["search"]["width"] == 5
    assert tree["search"]["length_penalty"] == {"name": "average", "alpha": 0.7}
    assert tree["search"]["max_length"] == {"ratio": 2.0, "plus": 50}


def test_a_mapping_is_an_experiment_and_stays_as_it_was():
    before = json.dumps(SETTINGS)
    experiment = load_experiment(SETTINGS, ["train.updates=7", "model.encoder.width=4", "search.width=3"])
    assert json.dumps(SETTINGS) == before
    assert experiment.train.updates == 7
    assert experiment.model.encoder.options["width"] == 4
    assert experiment.model.encoder.options["dropout"] == 0.2
    assert experiment.search.options["width"] == 3
    assert experiment.search.options["max_length"].plus == 4


def test_options_of_a_default_search_keep_the_rest_of_it():
    search = load_experiment(settings("train.validation_search.policy=pools")).train.validation_search
    assert (search.options["policy"], search.options["width"]) == ("pools", 1)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], (32, None)),
        (["train.batch_pairs=8"], (8, None)),
        (["train.batch_tokens=500"], (None, 500)),
        (["train.batch_tokens=500", "train.batch_pairs=null"], (None, 500)),
    ],
)
def test_batches_are_measured_in_pairs_or_in_tokens(given, expected):
    train = load_experiment({"data": {"train": "t.tsv"}}, given).train
    assert (train.batch_pairs, train.batch_tokens) == expected
    dumped = validate(type(train), train.model_dump(), "again")
    assert dumped == train


def test_batches_cannot_be_measured_in_both():
    message = fails("copy-reverse", "train.batch_tokens=500")
    assert "train: expected batch_pairs or batch_tokens; got both (128, 500)" in message


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.select=exactmatch", "train.select: unknown metric 'exactmatch'; did you mean 'exact_match'?"),
        ("train.select=los", "train.select: unknown metric 'los'; did you mean 'loss'?"),
        ("train.updatse=3", "train.updatse: unknown key 'updatse'; did you mean 'updates'?"),
        ("sede=3", "sede: unknown key 'sede'; did you mean 'seed'?"),
        ("model.encoder.cell=grru", "model.encoder.cell: unknown cell 'grru'; did you mean 'gru'?"),
        ("data.trian=t.tsv", "data.trian: unknown key 'trian'; did you mean 'train'?"),
        ("train.batch_pairs=0", "train.batch_pairs: expected at least 1; got 0"),
        ("train.updates=0", "train.updates: expected at least 1; got 0"),
        (
            "data.max_source_length=0",
            "data.max_source_length: expected greater than or equal to 1; got 0",
        ),
        ("train.updates=soon", "train.updates: expected integer or 'auto'; got 'soon'"),
        ("train.log_every=-1", "train.log_every: expected at least 1; got -1"),
        ("train.patience=-1", "train.patience: expected greater than or equal to 0; got -1"),
        ("train.clip=0", "train.clip: expected greater than 0; got 0"),
        ("train.label_smoothing=1", "train.label_smoothing: expected less than 1; got 1"),
        ("seed=-1", "seed: expected greater than or equal to 0; got -1"),
        ("format=2", "format: expected 1; got 2"),
        (
            "search.n_best=9",
            "search: search: expected n_best at most width (the beam); got n_best 9, width 2",
        ),
        (
            "train.validation_search.n_best=2",
            "train.validation_search: search: expected n_best at most width (the beam); "
            "got n_best 2, width 1",
        ),
        ("tokenizer.shared=true", None),
    ],
)
def test_what_cannot_work_is_refused_where_it_is_read(override, message):
    if message is None:
        message = fails(settings("tokenizer.target=char", override))
        assert message.startswith("settings: tokenizer: shared: expected equal tokenizers; got Spec(")
    else:
        assert fails(settings(override)) == f"settings: {message}"


@pytest.mark.parametrize("select", ["loss", *families()["metric"]])
def test_every_metric_and_the_loss_may_select(select):
    assert load_experiment(settings(f"train.select={select}")).train.select == select


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("copy-revers", "unknown recipe 'copy-revers'; did you mean 'copy-reverse'?"),
        ("date", "unknown recipe 'date'; did you mean 'dates'?"),
        ("zzz", "unknown recipe 'zzz'; known: "),
    ],
)
def test_a_misspelt_recipe_is_answered_with_the_nearest(name, message):
    assert fails(name).startswith(message)


def test_files_that_hold_no_settings_are_refused_by_name(here):
    assert fails("missing.yaml").startswith("missing.yaml: cannot be read; ")
    assert fails(write(here / "list.yaml", "- 1")).endswith("expected a mapping of settings; got list")
    assert "list.yaml" in fails(str(here / "list.yaml"))
    empty = write(here / "empty.yaml", "# nothing\n")
    assert fails(empty) == f"{empty}: data: expected a value; it is required"
    (here / "latin.yaml").write_bytes("name: é".encode("latin-1"))
    assert fails("latin.yaml").startswith("latin.yaml: cannot be read; ")
    bad = write(here / "bad.yaml", "data: {train: t.tsv}\ntrain: {clip: 1, clip: 2}")
    assert fails(bad) == f"{bad}:2: expected YAML; key 'clip' stands twice"


def test_CKP_11_a_configuration_runs_no_code(here):
    config = write(
        here / "exp.yaml", f"data: {{train: t.tsv}}\nname: !!python/object/apply:os.mkdir ['{here}/marker']"
    )
    assert fails(config).startswith(f"{config}: refused: unsafe content")
    assert not (here / "marker").exists()
