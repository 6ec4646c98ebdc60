"""The cleaned copy: what goes, what stays, and that nothing is ever overwritten."""

import gzip
import tempfile
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.doctor.rows import ODD, rows
from transduce.data.doctor.cleaner import Cleaner, Form
from transduce.data.doctor.examine import examine
from transduce.data.lines import is_blank
from transduce.data.pairs import Place
from transduce.data.sources.jsonl import JsonLinesFile
from transduce.data.sources.tsv import TsvFile
from transduce.errors import ConfigError, DataError

TEXT = st.text(st.sampled_from(ODD.replace("\t", "").replace("\ufeff", "")), max_size=4)


def clean(path: Path, pairs: list[tuple[str, str]], form: Form | None = None) -> dict[str, int]:
    with Cleaner(str(path), form) as cleaner:
        examine(rows(pairs), (), cleaner)
    return cleaner.counts


@given(
    st.lists(st.tuples(TEXT, TEXT)),
    st.sampled_from([None, "nfc", "nfd"]),
    st.sampled_from(["tsv", "jsonl", "tsv.gz"]),
)
def test_the_copy_holds_each_pair_once_in_order(pairs, form, ending):
    normal = [tuple(unicodedata.normalize(form.upper(), t) if form else t for t in pair) for pair in pairs]
    whole = [
        (pair, before) for pair, before in zip(normal, pairs, strict=True) if not any(map(is_blank, before))
    ]
    kept = list(dict.fromkeys(pair for pair, _ in whole))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"clean.{ending}")
        counts = clean(path, pairs, form)
        reader = JsonLinesFile if ending == "jsonl" else TsvFile
        assert reader(Place(), path=str(path)).read().pairs == kept
        assert [entry.name for entry in Path(folder).iterdir()] == [path.name]
    assert counts == {
        "pairs": len(kept),
        "blank_sides": len(pairs) - len(whole),
        "duplicates": len(whole) - len(kept),
        "normalised": sum(pair != before for pair, before in whole),
    }


def test_a_clean_copy_has_no_fault_that_cleaning_mends(tmp_path):
    pairs = [("e\u0301", "x"), ("\u00e9", "x"), ("", "x"), ("a\u200d", "y"), ("a\u200d", "y")]
    clean(tmp_path / "clean.tsv", pairs, "nfc")
    found = examine(TsvFile(Place(), path=str(tmp_path / "clean.tsv")).rows())
    assert found.of("fault") == []
    assert (tmp_path / "clean.tsv").read_text(encoding="utf-8") == "\u00e9\tx\na\u200d\ty\n"


@pytest.mark.parametrize("ending", ["tsv", "jsonl"])
def test_marks_and_carriage_returns_go_and_one_within_a_text_is_a_space(tmp_path, ending):
    pairs = [("a", "\ufeffx"), ("a\rb", "x"), ("b", "x\r"), ("\ufeff\ufeffb", "x"), ("\r\ufeff", "x")]
    counts = clean(tmp_path / f"clean.{ending}", pairs)
    reader = JsonLinesFile if ending == "jsonl" else TsvFile
    found = reader(Place(), path=str(tmp_path / f"clean.{ending}")).read().pairs
    assert found == [("a", "x"), ("a b", "x"), ("b", "x")]
    assert counts == {"pairs": 3, "blank_sides": 1, "duplicates": 1, "normalised": 0}


@pytest.mark.parametrize("name", ["there.tsv", "."])
def test_what_is_there_is_never_overwritten(tmp_path, name):
    (tmp_path / "there.tsv").write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigError, match="expected the name of a new file; this one is there already"):
        Cleaner(str(tmp_path / name), None)
    assert (tmp_path / "there.tsv").read_text(encoding="utf-8") == "mine"


def test_an_error_on_the_way_leaves_nothing(tmp_path):
    with pytest.raises(
        DataError, match=r"line 2: expected text without tabs; got one; .* name the copy \.jsonl"
    ):
        clean(tmp_path / "clean.tsv", [("a", "b"), ("a", "b\tc")])
    assert list(tmp_path.iterdir()) == []
    assert clean(tmp_path / "clean.jsonl", [("a", "b\tc")])["pairs"] == 1


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none/clean\.tsv: cannot be written; No such file"):
        clean(tmp_path / "none" / "clean.tsv", [])


def test_a_packed_copy_is_packed(tmp_path):
    clean(tmp_path / "clean.tsv.gz", [("a", "b")])
    assert gzip.decompress((tmp_path / "clean.tsv.gz").read_bytes()) == b"a\tb\n"
