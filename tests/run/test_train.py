"""Training over a run folder: begin, stop, go on, and be killed."""

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.tiny import TASK, experiment, log, settings
from transduce.errors import CheckpointError, ConfigError, DataError, Interrupted
from transduce.experiment import Experiment
from transduce.run import outputs, train_run
from transduce.run.folder import TIMING
from transduce.run.outputs import until
from transduce.run.train import make_plan
from transduce.training.checkpoint import saves
from transduce.training.loop import Event, Plan, Save, Step, Validation
from transduce.training.trackers import Tracker
from transduce.translator import Translator

ROOT = Path(__file__).parents[2]
Watch = Callable[[Event, Plan], None]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a run by its place in it; the card alone says where it lies."""
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    found = {name: path.read_bytes().replace(folder.name.encode(), b"RUN") for name, path in files.items()}
    return found | {"metrics.jsonl": json.dumps(log(folder)).encode()}


def updates(folder: Path, config: Experiment, **options: Any) -> list[int]:
    """Trains; the updates that were made."""
    made: list[int] = []
    train_run(
        config,
        folder,
        watch=lambda event, plan: made.append(event.update) if type(event) is Step else None,
        **options,
    )
    return made


def signalled_at(update: int, number: int = signal.SIGTERM) -> Watch:
    """Sends a signal while this update is being told of."""

    def watch(event: Event, plan: Plan) -> None:
        if type(event) is Step and event.update == update:
            os.kill(os.getpid(), number)

    return watch


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory) -> Path:
    """A run of ten updates, four to an epoch, with dropout."""
    folder = tmp_path_factory.mktemp("runs") / "unbroken"
    train_run(experiment(), folder)
    return folder


@pytest.fixture
def copy(unbroken, tmp_path) -> Path:
    return Path(shutil.copytree(unbroken, tmp_path / "unbroken"))


def test_a_run_folder_holds_what_the_design_says(unbroken):
    names = sorted(contents(unbroken))
    save = ("model.safetensors", "optimizer.safetensors", "state.json")
    kept = [f"state/{update}/{name}" for update in (10, 5) for name in save]
    whole = ["README.md", "config.yaml", "data.json", "metrics.jsonl", "model.safetensors"]
    assert names == [*whole, *kept, "tokenizer.source.json", "tokenizer.target.json"]


def test_the_log_holds_reports_and_validations_in_order(unbroken):
    lines = log(unbroken)
    assert [(line["event"], line["update"]) for line in lines] == [
        ("report", 3),
        ("validation", 5),
        ("report", 6),
        ("report", 9),
        ("validation", 10),
    ]
    means = {"loss", "teacher_forced_accuracy", "gradient_norm"}
    assert set(lines[0]) == {"event", "update", "epoch", "lr", "tokens", *means}
    first = json.loads((unbroken / "metrics.jsonl").read_text(encoding="utf-8").split("\n")[0])
    assert set(first) - set(lines[0]) == set(TIMING)
    assert first["tokens_per_second"] == pytest.approx(first["tokens"] / first["seconds"], rel=0.05)
    assert 50 < first["memory"] < 50_000  # MB
    scores = lines[1]["scores"]
    assert {
        "exact_match",
        "token_accuracy",
        "bleu",
        "chrf",
        "cer",
        "wer",
        "loss",
        "teacher_forced_accuracy",
    } <= set(scores)
    assert lines[1]["search"]["width"] == 1
    assert lines[1]["improved"] is True


def test_the_same_again_is_the_same_to_the_bit(unbroken, tmp_path):
    train_run(experiment(), tmp_path / "again")
    assert contents(tmp_path / "again") == contents(unbroken)


def test_the_model_that_is_given_back_is_the_one_that_is_kept(unbroken):
    model = train_run(experiment(), unbroken)
    loaded = Translator.load(unbroken)
    texts = ["1 2 3", "0 0 1", "3"]
    assert model.translate(texts) == loaded.translate(texts)
    assert not model.model.training


def test_a_finished_run_trains_no_more(unbroken):
    before = contents(unbroken)
    said: list[str] = []
    assert updates(unbroken, experiment(), say=said.append) == []
    assert contents(unbroken) == before
    assert said == [f"going on from update 10 of {unbroken}"]


@pytest.mark.parametrize("update", [1, 4, 5, 6, 9])
def test_CKP_02_stopped_anywhere_and_resumed_is_the_unbroken_run(unbroken, tmp_path, update):
    folder = tmp_path / "broken"
    with pytest.raises(Interrupted) as caught:
        train_run(experiment(), folder, watch=signalled_at(update))
    assert caught.value.signal == signal.SIGTERM
    assert str(caught.value) == (
        f"stopped at update {update}, saved in {folder}; the same command goes on from there"
    )
    assert (folder / "state" / str(update)).is_dir()
    assert updates(folder, experiment()) == list(range(update + 1, 11))
    broken, whole = contents(folder), contents(unbroken)
    broken = {name: content for name, content in broken.items() if "state/" not in name or "state/10" in name}
    assert broken == {name: content for name, content in whole.items() if "state/5" not in name}


def test_stopped_at_every_update_it_still_is_the_unbroken_run(unbroken, tmp_path):
    folder = tmp_path / "broken"
    for update in range(1, 10):
        with pytest.raises(Interrupted):
            train_run(experiment(), folder, watch=signalled_at(update, signal.SIGINT))
    assert updates(folder, experiment()) == [10]
    broken, whole = contents(folder), contents(unbroken)
    for name in (
        "metrics.jsonl",
        "model.safetensors",
        "state/10/optimizer.safetensors",
        "state/10/state.json",
    ):
        assert broken[name] == whole[name]


@pytest.fixture
def hangup() -> Iterator[int]:
    """SIGHUP as it is without nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield signal.SIGHUP
    signal.signal(signal.SIGHUP, before)


def test_a_hangup_saves_though_nobody_can_be_told_any_more(tmp_path, hangup):
    def gone(event: Event, plan: Plan) -> None:
        if type(event) is Step and event.update == 2:
            os.kill(os.getpid(), hangup)
            raise OSError(5, "Input/output error")

    with pytest.raises(Interrupted) as caught:
        train_run(experiment(), tmp_path / "run", watch=gone)
    assert caught.value.signal == hangup
    assert [path.name for path in saves(tmp_path / "run/state")] == ["2"]


def test_a_signal_at_the_last_update_leaves_its_validation_to_the_next_sitting(unbroken, tmp_path):
    with pytest.raises(Interrupted, match="stopped at update 10"):
        train_run(experiment(), tmp_path / "run", watch=signalled_at(10))
    assert updates(tmp_path / "run", experiment()) == []
    assert contents(tmp_path / "run") == contents(unbroken)


def test_a_signal_after_the_last_validation_is_no_interruption(unbroken, tmp_path):
    def watch(event: Event, plan: Plan) -> None:
        if type(event) is Validation and event.update == 10:
            os.kill(os.getpid(), signal.SIGTERM)

    train_run(experiment(), tmp_path / "run", watch=watch)
    assert contents(tmp_path / "run") == contents(unbroken)


def test_longer_training_goes_on_where_it_ended(copy):
    said: list[str] = []
    assert updates(copy, experiment("train.updates=12"), say=said.append) == [11, 12]
    assert said[0] == "going on with other settings than before: train.updates: 10 -> 12"
    assert "updates: 12" in (copy / "config.yaml").read_text(encoding="utf-8")
    assert sorted(path.name for path in (copy / "state").iterdir()) == ["10", "12"]


def test_patience_that_ran_out_stays_out_until_it_is_raised(tmp_path):
    impatient = ("train.validate_every=1", "train.patience=1", "train.optimizer.lr=0.0")
    assert updates(tmp_path / "run", experiment(*impatient)) == [1, 2]
    assert updates(tmp_path / "run", experiment(*impatient)) == []
    assert updates(tmp_path / "run", experiment(*impatient, "train.patience=3")) == [3, 4]


def test_a_lost_or_damaged_save_is_made_up_for(copy, unbroken):
    (copy / "state/10/optimizer.safetensors").write_bytes(b"damaged")
    said: list[str] = []
    assert updates(copy, experiment(), say=said.append) == [6, 7, 8, 9, 10]
    assert said[0].startswith(
        f"{copy / 'state/10/optimizer.safetensors'}: refused: unsafe content or damaged"
    )
    assert said[1] == f"going on from update 5 of {copy}"
    assert contents(copy) == contents(unbroken)


def test_the_log_is_cut_back_to_the_save(copy, unbroken):
    shutil.rmtree(copy / "state/10")
    with open(copy / "metrics.jsonl", "a", encoding="utf-8") as file:
        file.write('{"event": "report", "update": 5000}\n{"event": "rep')
    updates(copy, experiment())
    assert log(copy) == log(unbroken)


def test_CKP_12_another_experiment_leaves_the_run_as_it_is(copy, unbroken):
    with pytest.raises(ConfigError, match=r"another experiment \(model.encoder.width: 8 -> 9\)"):
        train_run(experiment("model.encoder.width=9"), copy)
    assert contents(copy) == contents(unbroken)


def test_overwriting_begins_anew(copy, tmp_path):
    train_run(experiment("seed=2"), tmp_path / "fresh/unbroken")
    assert updates(copy, experiment("seed=2"), overwrite=True) == list(range(1, 11))
    assert contents(copy) == contents(tmp_path / "fresh/unbroken")


@pytest.mark.parametrize(
    "override",
    [
        "data.train=missing.tsv",
        "data.dev=missing.tsv",
        "tokenizer.source.min_count=0",
        "model.decoder={attend: before, input_feeding: false}",
        "train.start_from=missing",
        "train.start_from={run}",
        "train.source_embeddings=missing.vec",
    ],
)
def test_a_run_is_not_overwritten_by_one_that_cannot_begin(copy, unbroken, override):
    config = experiment("seed=2", override.replace("{run}", str(copy)))
    with pytest.raises((ConfigError, DataError, CheckpointError)):
        train_run(config, copy, overwrite=True)
    shutil.rmtree(copy / "cache", ignore_errors=True)
    assert contents(copy) == contents(unbroken)


def test_a_model_whose_saves_are_lost_is_not_overwritten(copy, unbroken):
    shutil.rmtree(copy / "state")
    before = contents(copy)
    for again in ("the folder gone", "its contents gone"):
        with pytest.raises(CheckpointError) as caught:
            train_run(experiment(), copy)
        assert str(caught.value).startswith(f"{copy}: expected a save beside its model to go on from"), again
        assert "--overwrite" in str(caught.value)
        assert f"train.start_from={copy}" in str(caught.value)
        shutil.rmtree(copy / "cache", ignore_errors=True)
        assert contents(copy) == before
        (copy / "state").mkdir(exist_ok=True)
    assert updates(copy, experiment(), overwrite=True) == list(range(1, 11))
    assert contents(copy) == contents(unbroken)


def test_a_run_killed_between_its_first_best_model_and_its_first_save_begins_again(tmp_path, unbroken):
    def killed(event: Event, plan: Plan) -> None:
        if isinstance(event, Validation):
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        train_run(experiment(), tmp_path / "run", watch=killed)
    assert (tmp_path / "run/model.safetensors").is_file()
    train_run(experiment(), tmp_path / "run")
    assert contents(tmp_path / "run") == contents(unbroken)


def test_two_cannot_train_in_one_folder(tmp_path, unbroken):
    messages: list[str] = []

    def second(event: Event, plan: Plan) -> None:
        with pytest.raises(CheckpointError) as caught:
            train_run(experiment(), tmp_path / "run", overwrite=True)
        messages.append(str(caught.value))

    train_run(experiment(), tmp_path / "run", watch=second)
    assert all("another process is training in it" in message for message in messages)
    assert messages
    assert contents(tmp_path / "run") == contents(unbroken)


def test_CKP_12_new_words_are_unknown_to_an_old_vocabulary(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("a b\tb a\nb a\ta b\n", encoding="utf-8")
    config = experiment(f"data.train={path}", f"data.dev={path}", f"data.test={path}")
    updates(tmp_path / "run", config)
    before = (tmp_path / "run/tokenizer.source.json").read_bytes()
    path.write_text("a c\tb a\nb d\ta e\na\tb\n", encoding="utf-8")
    said: list[str] = []
    updates(tmp_path / "run", config, say=said.append)
    assert (
        "the data have changed since this run began (2 training pairs then, 3 now): its vocabularies are kept"
    ) in said
    assert (tmp_path / "run/tokenizer.source.json").read_bytes() == before
    assert [line for line in said if "vocabulary" in line] == [
        "2 of 5 source tokens to train on are not in the vocabulary",
        "1 of 5 target tokens to train on are not in the vocabulary",
    ]


@pytest.mark.parametrize(
    ("override", "fault"),
    [
        ("train.optimizer.lr=-1", "train.optimizer.lr"),
        ("tokenizer.source.min_count=0", "min_count"),
        ("model.encoder.width=0", "width"),
        ("model.decoder={attend: before, input_feeding: false}", "input_feeding"),
    ],
)
def test_settings_that_cannot_work_leave_no_run_behind(tmp_path, override, fault):
    with pytest.raises(ConfigError, match=fault):
        train_run(experiment(override), tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []
    with pytest.raises(ConfigError, match=fault):
        train_run(experiment(override), tmp_path / "run")


def fill_disk(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Makes the disk full when something is to be put in the place of this name."""
    replace = os.replace

    def full(source: Any, target: Any) -> None:
        if Path(target).name == name:
            raise OSError(28, "No space left on device", str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)


def test_a_disk_that_is_full_is_told_and_the_last_save_stays(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    fill_disk(monkeypatch, "10")
    with pytest.raises(
        CheckpointError, match=r"state/10: cannot be written \(No space left on device\); the last save"
    ):
        train_run(experiment(), folder)
    monkeypatch.undo()
    assert updates(folder, experiment()) == [6, 7, 8, 9, 10]
    assert not list(folder.rglob(".writing-*"))


def test_a_disk_that_is_full_from_the_start_names_no_save(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    fill_disk(monkeypatch, "5")
    with pytest.raises(CheckpointError, match=r"left on device\); nothing has been saved yet$"):
        train_run(experiment(), folder)
    assert not list(folder.rglob(".writing-*"))


def test_plans_fill_in_what_is_automatic():
    train = experiment().train
    auto = train.model_copy(update={"updates": "auto", "validate_every": "auto", "select": "exact_match"})
    for per_epoch, updates_, every in ((4, 3000, 100), (500, 10000, 500), (4000, 80000, 1000)):
        plan = make_plan(auto, per_epoch)
        assert (plan.updates, plan.validate_every, plan.save_every) == (updates_, every, every)
        assert (plan.select, plan.higher_is_better) == ("exact_match", True)
    for select in ("loss", "cer", "wer"):
        assert not make_plan(auto.model_copy(update={"select": select}), 4).higher_is_better
    assert make_plan(train.model_copy(update={"save_every": 2}), 4).save_every == 2


def test_every_event_is_watched_with_the_plan(tmp_path):
    seen: list[tuple[type, int]] = []
    train_run(
        experiment("train.updates=5"),
        tmp_path / "run",
        watch=lambda e, plan: seen.append((type(e), plan.updates)),
    )
    assert [kind for kind, _ in seen if kind in (Validation, Save)] == [Validation, Save]
    assert {total for _, total in seen} == {5}


def test_random_numbers_before_training_do_not_matter(unbroken, tmp_path):
    torch.manual_seed(99)
    random.seed(99)
    train_run(experiment(), tmp_path / "run")
    assert log(tmp_path / "run") == log(unbroken)


KILLED = ("train.updates=40", "train.save_every=1", "train.validate_every=10", "train.batch_pairs=8")


@pytest.fixture(scope="module")
def forked(tmp_path_factory) -> tuple[Path, dict[str, Any]]:
    """What `tests/run/forked.py` did: runs that were killed and signalled, and what came of it."""
    folder = tmp_path_factory.mktemp("forked")
    command = [sys.executable, "-m", "tests.run.forked", str(folder), json.dumps(settings(*KILLED))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_CKP_06_a_run_killed_at_random_times_is_the_unbroken_run(forked, tmp_path):
    folder, found = forked
    rounds = found["killed"]
    assert len(rounds) == 10
    assert rounds == sorted(rounds)  # nothing that was saved is lost
    assert len(set(rounds)) > 2  # and it was killed while it trained
    assert found["finished"] == 0
    train_run(experiment(*KILLED), tmp_path / "killed")
    assert contents(folder / "killed") == contents(tmp_path / "killed")


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130), ("SIGHUP", 129)])
def test_CKP_09_a_signal_ends_the_command_with_everything_saved(forked, name, code):
    folder, found = forked
    stopped = found[name]
    assert stopped["code"] == code
    assert stopped["seconds"] < 10
    last = stopped["stderr"].split("\n")[-2]
    assert last.startswith("transduce: stopped at update ")
    update = int(last.split("update ")[1].split(",")[0])
    state = json.loads((folder / name / "state" / str(update) / "state.json").read_text())
    assert state["state"]["update"] == update
    assert not list((folder / name).rglob(".writing-*"))
    more = experiment(*KILLED, f"train.updates={update + 2}")
    assert updates(folder / name, more) == [update + 1, update + 2]


@pytest.mark.parametrize("update", [5, 10])
@pytest.mark.parametrize(
    "place", [2, 7]
)  # of the six pairs that are decoded, or of the one batch that is scored
def test_CKP_09_a_signal_during_a_validation_is_heard_and_the_run_goes_on_to_the_bit(
    unbroken, tmp_path, monkeypatch, update, place
):
    """Validation of large dev data takes minutes: it is left, and made first when training goes on."""
    places = itertools.count(1)

    def signalled(stop: Callable[[], bool], items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            if next(places) == 7 * (update // 5 - 1) + place:
                os.kill(os.getpid(), signal.SIGTERM)
            yield from until(stop, [item])

    folder = tmp_path / "unbroken"
    with monkeypatch.context() as patch:
        for module in (outputs, sys.modules["transduce.run.evaluate"]):  # whose name the package gives away
            patch.setattr(module, "until", signalled)
        with pytest.raises(Interrupted, match=f"stopped at update {update}"):
            train_run(experiment(), folder)
    validated = [line["update"] for line in log(folder) if line["event"] == "validation"]
    assert validated == list(range(5, update, 5))
    train_run(experiment(), folder)
    assert contents(folder) == contents(unbroken)


def test_a_run_that_ends_before_its_first_validation_keeps_its_last_model(tmp_path):
    with pytest.raises(Interrupted):
        train_run(experiment("train.validate_every=9"), tmp_path / "run", watch=signalled_at(3))
    assert not (tmp_path / "run/model.safetensors").exists()
    model = train_run(experiment("train.validate_every=9", "train.updates=2"), tmp_path / "run")
    loaded = Translator.load(tmp_path / "run")
    assert loaded.score(["0 1 2"], ["2 1 0"]) == model.score(["0 1 2"], ["2 1 0"])


def test_trackers_get_reports_and_validations_and_are_closed(tmp_path, monkeypatch):
    got: list[Any] = []

    class Noting(Tracker):
        name = "trackio"

        def __init__(self, folder: Path, name: str, config: dict[str, Any]) -> None:
            got.append((folder, name, config["seed"]))

        def log(self, update: int, values: dict[str, float]) -> None:
            got.append((update, sorted(values)[0]))

        def close(self) -> None:
            got.append("closed")

    monkeypatch.setitem(Tracker.family, "trackio", Noting)
    train_run(experiment("train.track=[trackio]"), tmp_path / "run")
    assert got == [
        (tmp_path / "run", "tiny", 1),
        (3, "train/gradient_norm"),
        (5, "dev/bleu"),
        (6, "train/gradient_norm"),
        (9, "train/gradient_norm"),
        (10, "dev/bleu"),
        "closed",
    ]


def test_a_moving_average_is_what_is_scored_and_kept_and_resumes_bit_for_bit(tmp_path):
    config = experiment("train.moving_average=0.5")
    train_run(config, tmp_path / "whole")
    for update in (3, 7):
        with pytest.raises(Interrupted):
            train_run(config, tmp_path / "broken", watch=signalled_at(update))
    train_run(config, tmp_path / "broken")
    broken, whole = contents(tmp_path / "broken"), contents(tmp_path / "whole")
    assert broken["metrics.jsonl"] == whole["metrics.jsonl"]
    for name in ("model.safetensors", "state/10/average.safetensors", "state/10/model.safetensors"):
        assert broken[name].replace(b"broken", b"") == whole[name].replace(b"whole", b"")
    assert whole["model.safetensors"] != whole["state/10/model.safetensors"]


@pytest.mark.parametrize("count", [2, 4])
def test_as_many_saves_are_kept_as_asked(tmp_path, count):
    train_run(experiment(f"train.keep_saves={count}", "train.save_every=2"), tmp_path / "run")
    assert [path.name for path in saves(tmp_path / "run/state")] == ["10", "8", "6", "5"][:count]


def test_accumulated_batches_make_fewer_updates_of_the_same_data(tmp_path):
    config = experiment(
        "train.batch_pairs=8", "train.accumulate=2", "train.updates=8", "train.validate_every=auto"
    )
    train_run(config, tmp_path / "run")
    epochs = [line["epoch"] for line in log(tmp_path / "run") if line["event"] == "report"]
    assert epochs == [0, 1]  # 60 pairs, 8 batches, 4 updates an epoch
    assert make_plan(config.train, per_epoch=8).validate_every == 100


def test_a_run_can_start_from_the_model_of_another(tmp_path, unbroken):
    said: list[str] = []
    other = {**TASK, "size": 40, "task": "copy"}
    config = experiment(
        f"train.start_from={unbroken}", "train.updates=1", "train.optimizer.lr=0", f"data.train={other}"
    )
    train_run(config, tmp_path / "run", say=said.append)
    assert f"starts from the model of {unbroken}, with its vocabularies" in said
    for name in ("model.safetensors", "tokenizer.source.json", "tokenizer.target.json"):
        assert (tmp_path / "run" / name).read_bytes() == (unbroken / name).read_bytes()


def test_another_architecture_cannot_start_from_a_model_and_leaves_no_run_behind(tmp_path, unbroken):
    with pytest.raises(CheckpointError, match="does not fit its configuration"):
        train_run(experiment(f"train.start_from={unbroken}", "model.encoder.width=6"), tmp_path / "run")
    train_run(experiment(f"train.start_from={unbroken}", "train.updates=1"), tmp_path / "run")


def test_embeddings_start_from_vectors_and_train_on(tmp_path):
    vectors = tmp_path / "v.vec"
    vectors.write_text("2 8\n0 " + "0.5 " * 8 + "\n9 " + "1 " * 8 + "\n", encoding="utf-8")
    said: list[str] = []
    options = [f"train.{side}_embeddings={vectors}" for side in ("source", "target")]
    frozen = experiment(*options, "train.updates=1", "train.optimizer.lr=0")
    model = train_run(frozen, tmp_path / "run", say=said.append)
    for side, part, tokenizer in (
        ("source", model.model.encoder, model.source_tokenizer),
        ("target", model.model.decoder, model.target_tokenizer),
    ):
        assert f"{side} embeddings: 1 of 4 symbols start from {vectors}" in said
        (row,) = tokenizer.encode("0").ids
        assert part.embedding.table.weight[row].eq(0.5).all()
        assert part.embedding.table.weight[row + 1 if row < 7 else row - 1].ne(0.5).all()
    vectors.write_text("x " + "1 " * 8 + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="it has none of the 4 there are"):
        train_run(frozen, tmp_path / "other")
