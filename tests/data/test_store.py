"""Indexes written to disk and mapped back."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.data import store
from transduce.data.store import IndexWriter, RaggedWriter, open_index
from transduce.errors import CheckpointError

IDS = st.lists(st.integers(0, 2**31 - 1), max_size=5)


@given(pairs=st.lists(st.tuples(IDS, IDS), max_size=20), chunk=st.sampled_from([1, 7, 1 << 18]))
def test_what_is_written_is_read_back_whatever_the_chunks(tmp_path_factory, pairs, chunk):
    folder = tmp_path_factory.mktemp("index")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "CHUNK", chunk)
        with IndexWriter(folder) as writer:
            for source, target in pairs:
                writer.add(source, target)
    index = open_index(folder)
    assert len(index) == len(pairs)
    for row, (source, target) in enumerate(pairs):
        assert index.source.row(row).tolist() == source
        assert index.target.row(row).tolist() == target
    rows = np.arange(len(pairs))
    assert index.source.lengths_of(rows).tolist() == [len(source) for source, _ in pairs]


def test_arrays_stay_in_their_files(tmp_path):
    with IndexWriter(tmp_path) as writer:
        writer.add([5, 6], [7])
    for ragged in open_index(tmp_path):
        assert isinstance(ragged.ids, np.memmap)
        assert isinstance(ragged.starts, np.memmap)
        with pytest.raises(ValueError, match="read-only"):
            ragged.ids[0] = 1


def written(folder) -> None:
    with IndexWriter(folder) as writer:
        for length in (1, 2, 3):
            writer.add([5] * length, [6] * (length + 1))


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("part", ["ids", "starts"])
def test_files_cut_short_anywhere_are_refused(tmp_path, side, part):
    written(tmp_path)
    path = tmp_path / f"{side}.{part}"
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match=f"{tmp_path}.*: damaged"):
            open_index(tmp_path)
    path.unlink()
    with pytest.raises(CheckpointError, match=f"{path}: cannot be read"):
        open_index(tmp_path)


def test_sides_of_different_lengths_are_refused(tmp_path):
    written(tmp_path)
    for part in ("ids", "starts"):
        (tmp_path / f"source.{part}").write_bytes(b"")
    RaggedWriter(tmp_path, "source").close()
    with pytest.raises(CheckpointError, match=r"damaged; 0 sources and 3 targets"):
        open_index(tmp_path)


def test_what_is_written_is_on_the_disk_before_it_is_used(tmp_path, monkeypatch):
    synced: list[int] = []
    monkeypatch.setattr(store.os, "fsync", lambda number: synced.append(os.fstat(number).st_size))
    written(tmp_path)
    assert sorted(synced) == [24, 32, 32, 36]
