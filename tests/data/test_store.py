"""Indexes written to disk and mapped back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.data import store
from transduce.data.store import IndexWriter, open_index

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
