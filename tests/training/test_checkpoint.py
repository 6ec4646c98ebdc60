"""Saves that survive any interruption, and files that are refused."""

import builtins
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load, save
from torch import nn

from tests.unsafe import traps
from transduce import files
from transduce.config import validate
from transduce.errors import CheckpointError
from transduce.files import TEMPORARY
from transduce.model import ModelSettings, Seq2Seq
from transduce.training.checkpoint import (
    Training,
    load_model,
    read_tensors,
    resume,
    save_model,
    save_state,
    saves,
)
from transduce.training.state import TrainState
from transduce.types import Source

NAMES = ("model.safetensors", "optimizer.safetensors", "state.json")


class Run:
    """A model, its optimizer and state, trained by random gradients."""

    def __init__(self, seed: int = 0, width: int = 3) -> None:
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(width, 4), nn.Linear(4, 2))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.1)
        self.state = TrainState()
        self.training = Training(self.model, self.optimizer)

    def update(self) -> None:
        self.optimizer.zero_grad()
        (self.model(torch.randn(5, 3)) ** 2).sum().backward()
        self.optimizer.step()
        self.state.update += 1

    def save(self, folder: Path) -> None:
        save_state(folder, self.training, self.state)

    def values(self) -> list[torch.Tensor]:
        entries = self.optimizer.state_dict()["state"]
        moments = [entries[place][key] for place in sorted(entries) for key in sorted(entries[place])]
        return [tensor.detach().clone() for tensor in (*self.model.parameters(), *moments)]


def resumed(folder: Path, seed: int = 99) -> tuple[Run, list[str]]:
    run, said = Run(seed), []
    run.state = resume(folder, run.training, said.append) or run.state
    return run, said


def same(first: Run, second: Run) -> bool:
    pairs = zip(first.values(), second.values(), strict=True)
    return first.state == second.state and all(torch.equal(a, b) for a, b in pairs)


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "state"


def trained(folder: Path, updates: int) -> list[Run]:
    """Saves after each update; gives back what was saved."""
    found = []
    for count in range(1, updates + 1):
        run = Run()
        for _ in range(count):
            run.update()
        run.state.best, run.state.epoch, run.state.loss = 0.1 + 0.2, 7, 1 / 3
        run.save(folder)
        found.append(run)
    return found


def test_parameters_are_found_again(tmp_path):
    first, second = Run(1), Run(2)
    save_model(tmp_path / "model.safetensors", first.model)
    load_model(tmp_path / "model.safetensors", second.model)
    assert all(map(torch.equal, first.model.parameters(), second.model.parameters()))
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_resuming_restores_parameters_moments_state_and_random_numbers(folder):
    (run,) = trained(folder, 1)
    drawn = torch.randn(3)
    torch.manual_seed(4)
    again, said = resumed(folder)
    assert same(again, run)
    assert said == []
    assert torch.equal(torch.randn(3), drawn)
    for each in (run, again):
        torch.manual_seed(8)
        each.update()
    assert same(again, run)


def test_an_optimizer_without_state_is_resumed_too(folder):
    run = Run()
    run.training = Training(run.model, torch.optim.SGD(run.model.parameters(), lr=0.25))
    run.optimizer = run.training.optimizer
    run.update()
    run.save(folder)
    again = Run(3)
    again.optimizer = torch.optim.SGD(again.model.parameters(), lr=9.0)
    assert resume(folder, Training(again.model, again.optimizer), print) == run.state
    assert again.optimizer.param_groups[0]["lr"] == 0.25


def test_where_nothing_was_saved_nothing_is_resumed(folder):
    assert resumed(folder)[0].state == TrainState()
    folder.mkdir()
    assert resumed(folder)[0].state == TrainState()
    assert saves(folder) == []


def test_the_newest_save_and_the_one_before_are_kept(folder):
    runs = trained(folder, 11)
    assert [path.name for path in saves(folder)] == ["11", "10"]
    assert sorted(path.name for path in folder.iterdir()) == ["10", "11"]
    assert same(resumed(folder)[0], runs[-1])


def damaged(content: bytes) -> Iterator[bytes]:
    yield from (b"", content[: len(content) // 2], content[:-1], b"\x00" * 64, b"[]", b"{}")


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_save_is_told_of_and_the_one_before_used(folder, name):
    older, newer = trained(folder, 2)
    whole = (folder / "2" / name).read_bytes()
    for content in (*damaged(whole), None):
        if content is None:
            (folder / "2" / name).unlink()
        else:
            (folder / "2" / name).write_bytes(content)
        run, said = resumed(folder)
        assert same(run, older), content
        assert len(said) == 1
        assert said[0].startswith(f"{folder / '2' / name}: ")
        assert said[0].endswith("; trying the save before it")
    (folder / "2" / name).write_bytes(whole)
    assert same(resumed(folder)[0], newer)


Tensors = dict[str, torch.Tensor]


def changed(**entries: torch.Tensor | None) -> Callable[[Tensors], Tensors]:
    """Puts these moments of the first parameter in the place of the saved ones; None takes one away."""
    named = {f"0.{name}": tensor for name, tensor in entries.items()}
    return lambda tensors: {name: t for name, t in {**tensors, **named}.items() if t is not None}


def without(start: str) -> Callable[[Tensors], Tensors]:
    return lambda tensors: {name: tensor for name, tensor in tensors.items() if not name.startswith(start)}


def one_before(folder: Path, older: Run) -> str:
    """Resumes, which must fall back on the save before; what was said of the newest."""
    run, said = resumed(folder)
    assert same(run, older)
    (line,) = said
    assert line.endswith("; trying the save before it")
    return line


@pytest.mark.parametrize(
    "change",
    [
        changed(exp_avg=torch.zeros(2, 3)),
        changed(exp_avg=torch.zeros(12)),
        changed(exp_avg=torch.tensor(0.0)),
        changed(exp_avg_sq=torch.zeros(4, 3, 1)),
        changed(step=torch.zeros(4, 3)),
        changed(exp_avg=None),
        changed(other=torch.zeros(4, 3)),
        without("0."),
        without("3."),
        lambda tensors: {name: t for name, t in tensors.items() if not name.endswith("exp_avg")},
        lambda tensors: {"rng": tensors["rng"]},
        lambda tensors: {**tensors, "4.step": torch.tensor(1.0)},
        lambda tensors: {**tensors, "x.step": torch.tensor(1.0)},
        lambda tensors: {**tensors, "rng": torch.tensor(1, dtype=torch.uint8)},
        lambda tensors: {**tensors, "rng": torch.zeros(1, 7, dtype=torch.uint8)},
        lambda tensors: {**tensors, "rng": torch.zeros(1, 5056)},
    ],
)
def test_moments_that_do_not_fit_are_a_damaged_save(folder, change):
    older, _ = trained(folder, 2)
    path = folder / "2/optimizer.safetensors"
    path.write_bytes(save(change(load(path.read_bytes()))))
    assert one_before(folder, older).startswith(f"{path}: cannot be used; ")


def test_a_save_of_before_its_tensors_were_listed_is_resumed_if_all_parameters_have_the_same(folder):
    older, newer = trained(folder, 2)
    path = folder / "2/state.json"
    tree = json.loads(path.read_text())
    del tree["optimizer"]["tensors"]
    path.write_text(json.dumps(tree))
    assert same(resumed(folder)[0], newer)
    path = folder / "2/optimizer.safetensors"
    path.write_bytes(save(changed(exp_avg=None)(load(path.read_bytes()))))
    assert "0" in one_before(folder, older)


def group(**values: Any) -> Callable[[Any], Any]:
    def change(tree: Any) -> Any:
        tree["optimizer"]["groups"][0].update(values)
        return tree

    return change


def state(**values: Any) -> Callable[[Any], Any]:
    return lambda tree: {**tree, "state": {**tree["state"], **values}}


@pytest.mark.parametrize(
    "change",
    [
        *(
            state(**{name: value})
            for name in ("update", "epoch", "position")
            for value in ("x", -3, 1.5, None)
        ),
        state(update=True),
        state(finished=1),
        state(best="high"),
        state(loss=None),
        state(scaler=[]),
        state(other=1),
        lambda tree: {**tree, "state": []},
        lambda tree: {**tree, "format": 2},
        lambda tree: {name: value for name, value in tree.items() if name != "format"},
        group(params=[0, 1, 2]),
        group(params=[3, 2, 1, 0]),
        group(lr="x"),
        group(betas=0.9),
        group(other=1),
        lambda tree: {**tree, "optimizer": {**tree["optimizer"], "groups": []}},
        lambda tree: {**tree, "optimizer": {**tree["optimizer"], "groups": [{}]}},
        lambda tree: {**tree, "optimizer": []},
        lambda tree: [tree],
    ],
)
def test_a_state_that_cannot_be_is_a_damaged_save(folder, change):
    older, _ = trained(folder, 2)
    path = folder / "2/state.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    assert one_before(folder, older).startswith(f"{folder / '2'}/")


def test_an_empty_save_folder_is_a_damaged_save(folder):
    (run,) = trained(folder, 1)
    (folder / "5").mkdir()
    assert same(resumed(folder)[0], run)


def test_where_no_save_can_be_read_nothing_is_begun_anew(folder):
    trained(folder, 2)
    for update in "12":
        (folder / update / "state.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"state: no save can be read; start again with --overwrite"):
        resumed(folder)


def test_a_save_after_a_damaged_one_counts_and_the_damaged_one_goes(folder):
    trained(folder, 9)
    (folder / "9" / "state.json").write_text("{")
    again, _ = resumed(folder)
    assert again.state.update == 8
    again.state.update = 7  # a run may save at other updates than it did before
    again.update()
    again.save(folder)
    assert [path.name for path in saves(folder)] == ["8"]
    again.update()
    again.save(folder)
    assert [path.name for path in saves(folder)] == ["9", "8"]
    assert same(resumed(folder)[0], again)


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({"0.bias": None}, r"1 tensors differ, first '0.bias': expected torch.Size\(\[4\]\), got None"),
        (
            {"2.bias": torch.zeros(2)},
            r"1 tensors differ, first '2.bias': expected None, got torch.Size\(\[2\]\)",
        ),
        (
            {"0.weight": torch.zeros(4, 5)},
            r"first '0.weight': expected torch.Size\(\[4, 3\]\), got torch.Size\(\[4, 5\]\)",
        ),
        ({"0.bias": torch.zeros(4, 1), "1.bias": None}, r"2 tensors differ, first '0.bias'"),
    ],
)
def test_parameters_that_do_not_fit_are_named(tmp_path, wrong, fault):
    run, path = Run(), tmp_path / "model.safetensors"
    tensors = {**run.model.state_dict(), **wrong}
    path.write_bytes(save({name: tensor for name, tensor in tensors.items() if tensor is not None}))
    before = run.values()
    with pytest.raises(CheckpointError, match=fault) as caught:
        load_model(path, run.model)
    assert str(caught.value).startswith(f"{path}: does not fit its configuration; ")
    assert all(map(torch.equal, run.values(), before))


def test_CKP_11_a_tensor_file_runs_no_code(tmp_path):
    path = tmp_path / "model.safetensors"
    for content in traps(tmp_path / "marker").values():
        path.write_bytes(content)
        with pytest.raises(CheckpointError) as caught:
            load_model(path, Run().model)
        assert str(caught.value).startswith(f"{path}: refused: unsafe content or damaged file; ")
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("name", NAMES)
def test_CKP_11_a_save_runs_no_code(folder, name):
    older, _ = trained(folder, 2)
    for content in traps(folder / "marker").values():
        (folder / "2" / name).write_bytes(content)
        run, said = resumed(folder)
        assert same(run, older)
        assert said[0].startswith(f"{folder / '2' / name}: ")
    assert not (folder / "marker").exists()


@pytest.mark.parametrize("content", [*damaged(save({"a": torch.zeros(9)})), None])
def test_damaged_and_missing_tensor_files_are_named(tmp_path, content):
    path = tmp_path / "model.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CheckpointError) as caught:
        load_model(path, Run().model)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_folder_is_no_tensor_file(tmp_path):
    with pytest.raises(CheckpointError, match="cannot be read; Is a directory"):
        read_tensors(tmp_path)


class Crash(Exception):
    """The machine stops here."""


class Crasher:
    """Lets `count` calls of the system through, and stops at the next; a write stops half-way."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        self.left = count
        for name in ("replace", "fsync", "open", "mkdir", "rmdir", "unlink"):
            monkeypatch.setattr(os, name, self.counted(getattr(os, name)))
        self.open = builtins.open
        monkeypatch.setattr(builtins, "open", self.opened)

    def tick(self) -> None:
        if self.left == 0:
            raise Crash
        self.left -= 1

    def counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.tick()
            return function(*arguments, **options)

        return call

    def opened(self, path: Path, mode: str = "r", **options: Any) -> Any:
        if "w" not in mode:
            return self.open(path, mode, **options)
        self.tick()
        file = self.open(path, mode, **options)
        write = file.write

        def half(content: bytes) -> int:
            if self.left == 0:
                write(content[: len(content) // 2])
                file.close()
            self.tick()
            return write(content)

        return Wrapped(file, half)


class Wrapped:
    """A file whose `write` is another."""

    def __init__(self, file: Any, write: Callable[[bytes], int]) -> None:
        self.file, self.write = file, write

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> "Wrapped":
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()


def crashes(action: Callable[[], Any], *, check: Callable[[], Any], again: Callable[[], Any]) -> int:
    """Stops `action` at each of its calls in turn; afterwards `check` must hold."""
    for count in itertools.count():
        with pytest.MonkeyPatch.context() as patch:
            Crasher(patch, count)
            try:
                action()
            except Crash:
                stopped = True
            else:
                stopped = False
        check()
        if not stopped:
            return count
        again()
    raise AssertionError


def test_CKP_06_a_crash_anywhere_in_a_save_leaves_a_whole_one(tmp_path):
    before, folder = tmp_path / "before", tmp_path / "state"
    older, newer = trained(before, 3)[-1], trained(tmp_path / "other", 4)[-1]

    def begin() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(before, folder)

    def check() -> None:
        run, said = resumed(folder)
        assert said == []
        assert same(run, older if run.state.update == 3 else newer)
        assert not list(folder.glob(f"{TEMPORARY}*"))
        seen.add(run.state.update)

    seen: set[int] = set()
    begin()
    total = crashes(lambda: newer.save(folder), check=check, again=begin)
    assert total > 20
    assert seen == {3, 4}


def test_CKP_06_a_crash_anywhere_in_a_file_leaves_the_old_or_the_new_one(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"old")
    seen: set[bytes] = set()
    total = crashes(
        lambda: files.write_file(path, b"new content"),
        check=lambda: seen.add(path.read_bytes()),
        again=lambda: path.write_bytes(b"old"),
    )
    assert total == 6
    assert seen == {b"old", b"new content"}
    assert [each.name for each in tmp_path.iterdir()] == ["config.yaml"]


def tied(seed: int) -> Seq2Seq:
    torch.manual_seed(seed)
    tree = {"encoder": {"width": 6, "bidirectional": False}, "decoder": {"width": 6, "tied": True}}
    return validate(ModelSettings, {**tree, "share_embeddings": True}, "test").build(9, 9)


def test_TRN_18_tied_embeddings_are_saved_once_and_stay_tied(tmp_path: Path) -> None:
    model, other = tied(1), tied(2)
    save_model(tmp_path / "model.safetensors", model)
    stored = read_tensors(tmp_path / "model.safetensors")
    tables = [name for name, tensor in stored.items() if tensor.shape == (9, 6)]
    assert len(tables) == 1
    assert sum(tensor.numel() for tensor in stored.values()) == sum(p.numel() for p in model.parameters())
    load_model(tmp_path / "model.safetensors", other)
    assert all(
        ours.equal(theirs) for ours, theirs in zip(model.parameters(), other.parameters(), strict=True)
    )
    table = other.encoder.embedding.table.weight
    assert table is other.decoder.embedding.table.weight is other.decoder.output.weight
    table.data[5] = 7.0
    assert other.decoder.output.weight[5].eq(7).all()


def test_TRN_18_a_tied_run_resumes_tied_with_one_state_for_its_table(tmp_path: Path) -> None:
    model, other = tied(1), tied(2)
    optimizers = [torch.optim.Adam(each.parameters(), lr=0.1) for each in (model, other)]

    def update(model: Seq2Seq, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        source = Source(torch.tensor([[4, 5]]), torch.ones(1, 2, dtype=torch.bool))
        model(source, torch.tensor([[2, 6]])).log_probs[..., 7].sum().neg().backward()
        optimizer.step()

    update(model, optimizers[0])
    save_state(tmp_path, Training(model, optimizers[0]), TrainState(update=1))
    resume(tmp_path, Training(other, optimizers[1]), pytest.fail)
    torch.manual_seed(3)
    update(model, optimizers[0])
    torch.manual_seed(3)
    update(other, optimizers[1])
    assert all(
        ours.equal(theirs) for ours, theirs in zip(model.parameters(), other.parameters(), strict=True)
    )


def test_TRN_18_a_file_of_an_untied_model_is_refused_by_a_tied_one(tmp_path: Path) -> None:
    untied = validate(
        ModelSettings, {"encoder": {"width": 6, "bidirectional": False}, "decoder": {"width": 6}}, "test"
    ).build(9, 9)
    save_model(tmp_path / "model.safetensors", untied)
    with pytest.raises(CheckpointError, match="does not fit its configuration"):
        load_model(tmp_path / "model.safetensors", tied(1))
