"""What may be continued in a run folder, what is refused, and its log."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.tiny import experiment
from transduce.errors import CheckpointError, ConfigError
from transduce.run.folder import Log, claimed, clear, compare_data, flatten, is_run, prepare

RUN = ("tokenizer.source.json", "tokenizer.target.json", "config.yaml")


def a_run(folder: Path, *overrides: str) -> Path:
    """A folder that looks like one."""
    (folder / "state/5").mkdir(parents=True)
    for name in (*RUN[:2], "model.safetensors", "metrics.jsonl", "README.md"):
        (folder / name).write_text("{}")
    tree = experiment(*overrides).model_dump()
    (folder / "config.yaml").write_text(json.dumps(tree))  # JSON is YAML
    return folder


def call(folder: Path, *overrides: str, overwrite: bool = False) -> tuple[bool, list[str]]:
    said: list[str] = []
    with claimed(folder):
        return prepare(folder, experiment(*overrides), said.append, overwrite=overwrite), said


def refused(folder: Path, *overrides: str, overwrite: bool = False) -> str:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(ConfigError) as caught:
        call(folder, *overrides, overwrite=overwrite)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert str(caught.value).startswith(f"{folder}: ")
    return str(caught.value).removeprefix(f"{folder}: ")


def test_a_folder_is_made_where_there_is_none(tmp_path):
    assert call(tmp_path / "a/b") == (False, [])
    assert (tmp_path / "a/b").is_dir()
    assert call(tmp_path / "a/b") == (False, [])


def test_a_run_of_the_same_experiment_goes_on(tmp_path):
    folder = a_run(tmp_path / "run")
    assert call(folder) == (True, [])
    assert is_run(folder)


@pytest.mark.parametrize(
    ("overrides", "listing"),
    [
        (["model.encoder.width=16"], "model.encoder.width: 8 -> 16"),
        (["model.encoder.bidirectional=false"], "model.encoder.bidirectional: True -> False"),
        (
            ["tokenizer.source=char"],
            "tokenizer.source.name: 'word' -> 'char'; tokenizer.source.unit: None -> 'grapheme'",
        ),
        (["seed=2", "data.train.size=61"], "data.train.size: 60 -> 61; seed: 1 -> 2"),
        (["train.optimizer.lr=0.5", "train.updates=11"], "train.optimizer.lr: 0.02 -> 0.5"),
    ],
)
def test_CKP_12_another_experiment_is_refused_and_every_difference_listed(tmp_path, overrides, listing):
    folder = a_run(tmp_path / "run")
    assert refused(folder, *overrides) == (
        f"holds a run of another experiment ({listing}); choose another --run, or --overwrite"
    )


@pytest.mark.parametrize(
    "override",
    [
        "train.updates=11",
        "train.batch_pairs=8",
        "train.patience=3",
        "train.validate_every=2",
        "train.save_every=2",
        "train.log_every=2",
        "search.width=5",
        "name=other",
    ],
)
def test_CKP_12_what_a_run_can_take_is_allowed_and_said(tmp_path, override):
    key, value = override.split("=")
    going_on, (line,) = call(a_run(tmp_path / "run"), override)
    assert going_on
    assert line.startswith(f"going on with other settings than before: {key}: ")
    assert line.endswith((f" -> {value}", f" -> {value!r}"))


def test_overwriting_begins_anew_and_removes_nothing_yet(tmp_path):
    folder = a_run(tmp_path / "run")
    before = sorted(folder.rglob("*"))
    assert call(folder, "seed=2", overwrite=True) == (False, [])
    assert sorted(folder.rglob("*")) == before


def test_clearing_removes_the_run_and_neither_what_is_beside_it_nor_the_new_cache(tmp_path):
    folder = a_run(tmp_path / "run")
    compare_data(folder, "digest", 5, print)
    (folder / "mine.tsv").write_text("a\tb\n")
    (folder / "cache").mkdir()
    clear(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["cache", "mine.tsv"]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["run", "other/../run", "link"])
def test_a_run_cannot_start_from_itself(tmp_path, name, overwrite):
    folder = a_run(tmp_path / "run")
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(folder)
    message = refused(folder, f"train.start_from={tmp_path / name}", overwrite=overwrite)
    assert message == "expected another folder than that of train.start_from; choose another --run"


def test_one_process_at_a_time_trains_in_a_folder_and_leaves_no_lock(tmp_path):
    with claimed(tmp_path / "run"), pytest.raises(CheckpointError) as caught, claimed(tmp_path / "run"):
        pytest.fail("claimed twice")
    assert str(caught.value).startswith(f"{tmp_path / 'run'}: another process is training in it; ")
    with claimed(tmp_path / "run"), claimed(tmp_path / "other"):
        assert list((tmp_path / "run").iterdir()) == []


def test_a_claim_ends_with_its_process(tmp_path):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with claimed(tmp_path):
            os.write(writer, b"claimed")
            signal.pause()
    assert os.read(reader, 7) == b"claimed"
    with pytest.raises(CheckpointError, match="another process is training"), claimed(tmp_path):
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with claimed(tmp_path):
        pass


def test_data_that_have_changed_are_told_of_each_time(tmp_path):
    said: list[str] = []
    compare_data(tmp_path, "a", 1200, said.append)
    compare_data(tmp_path, "a", 1200, said.append)
    assert said == []
    for _ in range(2):
        compare_data(tmp_path, "b", 900, said.append)
        assert said.pop() == (
            "the data have changed since this run began (1,200 training pairs then, 900 now): "
            "its vocabularies are kept"
        )


@pytest.mark.parametrize("content", ["", "{", "[]", '{"digest": "a"}', '{"digest": "b", "pairs": "x"}'])
def test_a_damaged_memory_of_the_data_is_none(tmp_path, content):
    (tmp_path / "data.json").write_text(content)
    compare_data(tmp_path, "a", 5, pytest.fail)
    assert json.loads((tmp_path / "data.json").read_text()) == {"digest": "a", "pairs": 5}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("names", [["notes.txt"], ["config.yaml"], ["config.yaml", "train.tsv"], ["state"]])
def test_a_folder_of_something_else_is_refused_whatever_is_asked(tmp_path, names, overwrite):
    for name in names:
        (tmp_path / name).write_text("data: {train: train.tsv}")
    message = refused(tmp_path, overwrite=overwrite)
    assert message == f"expected an empty folder or a run; it holds {names[0]!r}"


@pytest.mark.parametrize("count", range(3))
def test_a_run_that_was_stopped_while_it_began_begins_again(tmp_path, count):
    for name in RUN[:count]:
        (tmp_path / name).write_text("{}")
    (tmp_path / f".writing-{RUN[count]}").write_text("{")
    (tmp_path / "tensorboard").mkdir()
    assert call(tmp_path) == (False, [])
    assert not (tmp_path / f".writing-{RUN[count]}").exists()


def test_half_written_files_of_a_run_are_cleaned_up(tmp_path):
    folder = a_run(tmp_path / "run")
    (folder / ".writing-model.safetensors").write_bytes(b"half")
    assert call(folder) == (True, [])
    assert not (folder / ".writing-model.safetensors").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    for place in ("file", "file/run"):
        with pytest.raises(CheckpointError, match=f"{tmp_path / place}: cannot be made"):
            call(tmp_path / place)


def test_a_damaged_configuration_is_named(tmp_path):
    folder = a_run(tmp_path / "run")
    (folder / "config.yaml").write_text("data: [")
    with pytest.raises(ConfigError, match=r"run/config.yaml:1: expected YAML"):
        call(folder)


def test_nested_settings_have_dotted_names():
    assert flatten({"a": {"b": 1, "c": {"d": [2]}}, "e": None}) == {"a.b": 1, "a.c.d": [2], "e": None}


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def test_a_log_is_one_object_a_line(tmp_path):
    log = Log(tmp_path / "metrics.jsonl", 0)
    log.write("report", {"update": 1, "loss": 0.1 + 0.2})
    log.write("validation", {"update": 2, "scores": {"é\u2028": 1.0}})
    assert lines(tmp_path / "metrics.jsonl") == [
        {"event": "report", "update": 1, "loss": 0.1 + 0.2},
        {"event": "validation", "update": 2, "scores": {"é\u2028": 1.0}},
    ]


def test_a_log_is_cut_back_to_where_a_run_goes_on(tmp_path):
    path = tmp_path / "metrics.jsonl"
    log = Log(path, 0)
    for update in range(1, 6):
        log.write("report", {"update": update, "scores": {"a": {"b": 1}}})
    Log(path, 3).write("report", {"update": 4})
    assert [line["update"] for line in lines(path)] == [1, 2, 3, 4]
    Log(path, 0)
    assert path.read_bytes() == b""


def test_a_line_cut_short_is_no_line(tmp_path):
    path = tmp_path / "metrics.jsonl"
    whole = json.dumps({"event": "report", "update": 1, "scores": {"a": 1}, "x": {}})
    for length in range(len(whole)):
        path.write_text(f"{whole}\n{whole[:length]}")
        Log(path, 9)
        assert path.read_text() == f"{whole}\n"
