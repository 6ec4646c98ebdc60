"""Files that are whole or not there."""

import os
from typing import Any

import pytest

from transduce import files


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch, call):
    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "config.yaml").write_bytes(b"old")
    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space left"):
        files.write_file(tmp_path / "config.yaml", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]
    assert (tmp_path / "config.yaml").read_bytes() == b"old"
