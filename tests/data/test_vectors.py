"""Vectors read from the text files of other tools."""

import gzip

import numpy as np
import pytest

from transduce.data.vectors import read_vectors
from transduce.errors import DataError

IDS = {"cat": 4, "dog": 5, "నేను": 6, "a b": 7, "2": 8}


def write(path, text: str):
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def read(path, width: int = 2) -> dict[int, list[float]]:
    return {index: vector.tolist() for index, vector in read_vectors(path, IDS, width).items()}


@pytest.mark.parametrize("header", ["", "4 2\n"])
@pytest.mark.parametrize("end", ["\n", " \n", "\r\n"])
def test_with_and_without_a_header_or_trailing_space(tmp_path, header, end):
    lines = ["dog 1 -2.5", "నేను 1e-3 0", "bird 9 9", "dog 7 7"]
    path = write(tmp_path / "v.txt", header + "".join(line + end for line in lines))
    assert read(path) == {5: [1.0, -2.5], 6: [pytest.approx(1e-3), 0.0]}


def test_a_symbol_may_hold_spaces_or_be_a_number(tmp_path):
    assert read(write(tmp_path / "v.txt", "a b 1 2\n2 3 4\n")) == {7: [1, 2], 8: [3, 4]}


def test_a_gzip_file_is_read_as_is(tmp_path):
    (tmp_path / "v.vec.gz").write_bytes(gzip.compress(b"1 3\ncat 1 2 3\n"))
    np.testing.assert_array_equal(read_vectors(tmp_path / "v.vec.gz", IDS, 3)[4], [1, 2, 3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("9 3\ncat 1 2 3\n", r"v\.txt:1: expected vectors of width 2; got 3; set the embedding width"),
        ("cat 1 2\ndog 1\n", r"v\.txt:2: expected vectors of width 2; got 1"),
        ("cat 1 2\ndog x y\n", r"v\.txt:2: expected 2 numbers after 'dog'; could not convert"),
        ("cat\n", r"v\.txt:1: expected vectors of width 2; got 0"),
        ("bird 1 2 3\ncat 1 2 3\n", r"v\.txt:1: expected vectors of width 2; got 3; set the embedding width"),
        ("2 1 2 3 \n", r"v\.txt:1: expected vectors of width 2; got 3"),
        ("bird 1 2\ncat 1 nan\n", r"v\.txt:2: expected 2 finite numbers after 'cat'; got nan"),
        ("cat -1e40 2\n", r"v\.txt:1: expected 2 finite numbers after 'cat'; got -1e40"),
        ("1 2\ncat 1 inf\n", r"v\.txt:2: expected 2 finite numbers after 'cat'; got inf"),
    ],
)
def test_what_is_no_vector_is_refused_with_its_line(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read(write(tmp_path / "v.txt", text))


def test_a_header_settles_the_width_whatever_the_first_symbol_is(tmp_path):
    found = read_vectors(write(tmp_path / "v.txt", "1 2\n1 2 3 4\n"), {"1 2": 4}, 2)
    assert found[4].tolist() == [3, 4]


def test_an_empty_file_has_none(tmp_path):
    assert read(write(tmp_path / "v.txt", "")) == {}
