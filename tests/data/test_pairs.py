"""The readers of pair files, over whole kinds of damage; DAT-nn are the cases of cases.md."""

import gzip
import json
import os
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.config import Spec
from transduce.data.lines import STDIN, decode_lines, is_blank, read_lines
from transduce.data.pairs import Pairs, Place, format_of, listed
from transduce.data.sources.jsonl import JsonLinesFile
from transduce.data.sources.parallel import ParallelFiles
from transduce.data.sources.tsv import TsvFile
from transduce.errors import DataError

NOT_LINE_ENDS = "\u2028\u2029\x0b\x0c\x1c\x1d\x1e\x85"
BLANK = ["", " ", "\u00a0", "\u3000", "\u2003 ", "\u2028"]
BLANK += [
    "\u200b",
    "\u200b\ufeff",
    "\u200e",
    " \u00ad ",
    "\u2060",
    "\u2800",
    "\u3164",
    "\u115f\u1160",
    "\uffa0",
]
UNSEEN = "".join(BLANK)


def write(path: Path, text: str | bytes) -> str:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def parallel(folder: Path, source: str | bytes, target: str | bytes):
    files = write(folder / "t.src", source), write(folder / "t.tgt", target)
    return ParallelFiles(Place(), source=files[0], target=files[1]).read()


def tsv(folder: Path, text: str | bytes, *columns: int | str):
    return TsvFile(Place("train", 1, *columns), path=write(folder / "t.tsv", text)).read()


def fails(read, *arguments) -> str:
    with pytest.raises(DataError) as caught:
        read(*arguments)
    return str(caught.value)


def test_DAT_01_only_lf_ends_a_record(tmp_path):
    read = parallel(tmp_path, "aa\u2028bb\ncc\ndd\u2029ee\n", "1\n2\n3\n")
    assert read.pairs == [("aa\u2028bb", "1"), ("cc", "2"), ("dd\u2029ee", "3")]
    assert len(list(read_lines(tmp_path / "t.src"))) == 3


@pytest.mark.parametrize("mark", NOT_LINE_ENDS, ids=ascii)
def test_DAT_01_every_other_separator_is_text(tmp_path, mark):
    source, target = f"a{mark}b", f"{mark}1{mark}"
    assert parallel(tmp_path, f"{source}\nc\n", f"{target}\n2\n").pairs == [(source, target), ("c", "2")]
    assert tsv(tmp_path, f"{source}\t{target}\nc\t2\n").pairs == [(source, target), ("c", "2")]


def test_DAT_03_a_lone_cr_within_a_line_is_text(tmp_path):
    assert parallel(tmp_path, "a\rb\nc\n", "x\ny\n").pairs == [("a\rb", "x"), ("c", "y")]
    assert tsv(tmp_path, "a\rb\tx\nc\ty\r\r\n").pairs == [("a\rb", "x"), ("c", "y\r")]


def test_DAT_03_a_packed_file_of_cr_alone_is_refused(tmp_path):
    path = tmp_path / "t.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tx\rb\ty\r"))
    with pytest.raises(DataError, match="expected lines ended by LF; got CR alone"):
        TsvFile(Place(), path=str(path)).read()


@pytest.mark.parametrize("end", ["", "\r"])
def test_DAT_03_a_file_of_cr_alone_is_refused(tmp_path, end):
    for message in (
        fails(parallel, tmp_path, f"a\rb\rc{end}", f"x\ry\rz{end}"),
        fails(tsv, tmp_path, f"a\tx\rb\ty\rc\tz{end}"),
    ):
        assert str(tmp_path / "t.") in message
        assert "expected lines ended by LF; got CR alone" in message


def test_DAT_05_a_byte_order_mark_is_no_text(tmp_path):
    read = parallel(tmp_path, "\ufeffhello\nworld\n\ufeffagain\n", "\ufeff1\n2\n\ufeff3\n")
    assert read.pairs == [("hello", "1"), ("world", "2"), ("again", "3")]
    assert tsv(tmp_path, "\ufeffhello\t1\n\ufeffagain\t3\n").pairs == [("hello", "1"), ("again", "3")]
    assert tsv(tmp_path, "\ufeffen\tte\nhello\t1\n", "en", "te").pairs == [("hello", "1")]


def test_DAT_05_only_the_second_file_has_the_mark_and_joined_files_have_two(tmp_path):
    assert parallel(tmp_path, "a\nb\n", "\ufeff1\n2\n").pairs == [("a", "1"), ("b", "2")]
    joined = ("\ufeffa\t1\n" + "\ufeffb\t2\n").encode()  # `cat a b`
    assert tsv(tmp_path, joined).pairs == [("a", "1"), ("b", "2")]


def test_DAT_05_columns_put_side_by_side_each_have_the_mark(tmp_path):
    """`paste a b`, of two files that begin with it, below a header or not."""
    assert tsv(tmp_path, "\ufeffa\t\ufeff1\nb\t2\n").pairs == [("a", "1"), ("b", "2")]
    assert tsv(tmp_path, "\ufeffen\t\ufeffte\na\t1\n", "en", "te").pairs == [("a", "1")]


def test_DAT_05_a_configuration_may_begin_with_the_mark(tmp_path):
    from transduce.experiment import load_experiment

    config = write(tmp_path / "exp.yaml", "\ufeffdata: {train: t.tsv}\nseed: 7\n")
    assert load_experiment(config).seed == 7


def test_DAT_05_the_mark_within_a_line_is_kept(tmp_path):
    assert parallel(tmp_path, "a\ufeffb\n", "1\n").pairs == [("a\ufeffb", "1")]


def test_DAT_06_a_blank_side_is_skipped_and_counted(tmp_path):
    read = parallel(tmp_path, "a\n\nc\nd\n", "1\n2\n\n4\n")
    assert (read.pairs, read.skipped) == ([("a", "1"), ("d", "4")], [2, 3])
    assert read.report("t.src") == "t.src: skipped 2 of 4 pairs with a blank side (lines 2, 3)"


@pytest.mark.parametrize("blank", BLANK, ids=ascii)
def test_DAT_06_blank_of_any_script_on_either_or_both_sides(tmp_path, blank):
    assert is_blank(blank)
    text = f"a\t1\n{blank}\t2\nc\t{blank}\n{blank}\t{blank}\n{blank}\ne\t5\n"
    read = tsv(tmp_path, text)
    assert (read.pairs, read.skipped) == ([("a", "1"), ("e", "5")], [2, 3, 4, 5])
    read = parallel(tmp_path, f"a\n{blank}\nc\n{blank}\n", f"1\n2\n{blank}\n{blank}\n")
    assert (read.pairs, read.skipped) == ([("a", "1")], [2, 3, 4])


@given(st.text(UNSEEN), st.sampled_from("a\u0915\u0301\u06dd\U000110bd.\x01"), st.text(UNSEEN))
def test_DAT_06_one_character_that_is_seen_is_text(before, seen, after):
    assert is_blank(before + after)
    assert not is_blank(before + seen + after)


def test_DAT_06_line_numbers_count_the_header_and_the_report_stays_short(tmp_path):
    read = tsv(tmp_path, "en\tte\n" + "\tx\n" * 6 + "a\t1\n", "en", "te")
    assert read.skipped == [2, 3, 4, 5, 6, 7]
    assert read.report("t.tsv") == "t.tsv: skipped 6 of 7 pairs with a blank side (lines 2, 3, 4, 5, 6, …)"
    assert tsv(tmp_path, "a\t1\n").report("t.tsv") is None


def test_DAT_06_one_line_is_one_line(tmp_path):
    assert tsv(tmp_path, "a\t1\n\t2\n").report("x") == "x: skipped 1 of 2 pairs with a blank side (line 2)"


@pytest.mark.parametrize("text", ["\n", "\n\n\n", " \t \n\u3000\n", "\r\n\r\n", "\ufeff\n", "\ufeff"])
def test_DAT_06_a_file_of_only_blanks_has_no_pair(tmp_path, text):
    lines = text.count("\n") or 1
    assert tsv(tmp_path, text) == Pairs([], list(range(1, lines + 1)))
    assert parallel(tmp_path, text, "x\n" * lines) == Pairs([], list(range(1, lines + 1)))


@given(st.lists(st.booleans()), st.integers(0, 1))
def test_every_pair_knows_its_line(blank, header):
    """Whatever is skipped before it, and below a header or not."""
    rows = ["\t" if skip else f"{number}\tx" for number, skip in enumerate(blank, 1 + header)]
    with tempfile.TemporaryDirectory() as folder:
        columns = ("n", "x") if header else ()
        found = tsv(Path(folder), "n\tx\n" * header + "".join(f"{row}\n" for row in rows), *columns)
    assert [pair.source for pair in found.pairs] == [str(line) for line in found.lines]
    assert sorted(found.lines + found.skipped) == list(range(1 + header, 1 + header + len(blank)))


def test_lines_are_listed_shortly():
    assert [listed(list(range(1, n + 1))) for n in (1, 2, 5)] == [
        "line 1",
        "lines 1, 2",
        "lines 1, 2, 3, 4, 5",
    ]
    assert listed([3, 4, 5, 6, 7, 8]) == "lines 3, 4, 5, 6, 7, …"


def test_a_path_tells_its_format():
    assert format_of("a/b.jsonl") == format_of("b.jsonl.gz") == "jsonl"
    assert {format_of(path) for path in ("b.tsv", "b.tsv.gz", "jsonl", "b.json", "<stdin>", "x.jsonl/y")} == {
        "tsv"
    }


@pytest.mark.parametrize(("source", "target", "counts"), [(3, 2, "3 2"), (2, 3, "2 3"), (0, 1, "0 1")])
def test_DAT_09_files_of_different_length_are_refused(tmp_path, source, target, counts):
    message = fails(parallel, tmp_path, "a\n" * source, "1\n" * target)
    first, second = counts.split()
    assert f"{tmp_path / 't.src'} has {first} lines" in message
    assert f"{tmp_path / 't.tgt'} has {second}" in message


def test_DAT_12_wrong_lines_are_counted_not_kept(tmp_path):
    path = write(tmp_path / "t.tsv", "b\n" * 20_000 + "a\tb\tc\n")
    tracemalloc.start()
    message = fails(TsvFile(Place(), path=path).read)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "; and 19996 more lines; choose two with data.source_column" in message
    assert most < 300_000


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_DAT_10_the_last_line_needs_no_end(tmp_path, end):
    assert parallel(tmp_path, f"a b\nc d{end}", "1\n2").pairs == [("a b", "1"), ("c d", "2")]
    assert tsv(tmp_path, f"a b\t1\nc d\t2{end}").pairs == [("a b", "1"), ("c d", "2")]


def test_DAT_10_mixed_line_ends_each_end_one_line(tmp_path):
    assert tsv(tmp_path, "a\t1\r\nb\t2\nc\t3\r\n").pairs == [("a", "1"), ("b", "2"), ("c", "3")]
    assert parallel(tmp_path, "a\r\nb\nc\r\n", "1\n2\r\n3").pairs == [("a", "1"), ("b", "2"), ("c", "3")]


def test_DAT_10_cr_lf_ends_lines_as_lf_does(tmp_path):
    assert tsv(tmp_path, "a\t1\r\nb\t2\r\n").pairs == [("a", "1"), ("b", "2")]
    assert parallel(tmp_path, "a\r\nb\r\n", "1\n2\n").pairs == [("a", "1"), ("b", "2")]


def test_DAT_12_wrong_numbers_of_columns_are_refused_by_line(tmp_path):
    file = tmp_path / "t.tsv"
    assert fails(tsv, tmp_path, "a\t1\nb\tx\t2\nc\n") == (
        f"{file}:2: 3 columns, expected 2; {file}:3: 1 column, expected 2; "
        "choose two with data.source_column and data.target_column, or inspect --columns"
    )


def test_DAT_12_chosen_columns(tmp_path):
    text = "a\t1\nb\tx\t2\nc\n"
    message = fails(tsv, tmp_path, text, 1, 3)
    assert f"{tmp_path / 't.tsv'}:1: 2 columns, expected at least 3" in message
    assert f"{tmp_path / 't.tsv'}:3: 1 column, expected at least 3" in message
    assert "t.tsv:2" not in message
    assert tsv(tmp_path, "a\tx\t1\nb\ty\t2\tz\n", 3, 1).pairs == [("1", "a"), ("2", "b")]


@pytest.mark.parametrize(
    ("line", "count"), [("a\t1\t", 3), ("\ta\t1", 3), ("a\t\t1", 3), ("a 1", 1), ("\t\tx", 3)]
)
def test_DAT_12_extra_and_missing_tabs(tmp_path, line, count):
    assert f"t.tsv:2: {count} column" in fails(tsv, tmp_path, f"x\ty\n{line}\n")


def test_DAT_12_spaces_beside_tabs_belong_to_the_text(tmp_path):
    assert tsv(tmp_path, " a \t 1 \n").pairs == [(" a ", " 1 ")]


def test_DAT_12_many_wrong_lines_make_a_short_message(tmp_path):
    message = fails(tsv, tmp_path, "a\t1\n" + "b\n" * 9)
    assert [f"t.tsv:{line}:" in message for line in range(1, 11)] == [False] + [True] * 5 + [False] * 4
    assert message.endswith("; and 4 more lines")


def test_DAT_14_bytes_that_are_not_utf8_are_refused(tmp_path):
    message = fails(parallel, tmp_path, b"caf\xe9\nab\n", "1\n2\n")
    assert f"{tmp_path / 't.src'}:1: expected UTF-8; got byte 0xe9 at byte offset 3" in message
    assert "iconv -f LATIN1 -t UTF-8" in message


def test_DAT_14_the_last_line_without_an_end(tmp_path):
    message = fails(tsv, tmp_path, b"a\t1\n" * 3 + "caf\u00e9\t2".encode("latin1"))
    assert "t.tsv:4: expected UTF-8; got byte 0xe9 at byte offset 3" in message


@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16BE"])
@pytest.mark.parametrize("text", ["ab\tc\nde\tf\n", "\u0c12\u0c15\t\u0c1f\n\u0c12\t\u0c12\n"])
def test_DAT_14_utf16_without_a_mark_is_refused_by_its_nul_bytes(tmp_path, text, encoding):
    """Telugu in UTF-16 is valid UTF-8, of control characters: only tabs and line ends betray it."""
    message = fails(tsv, tmp_path, text.encode(encoding))
    assert "t.tsv:1: expected text; got a NUL byte at byte offset" in message
    assert f"iconv -f {encoding} -t UTF-8" in message
    one_side = text.replace("\t", "").encode(encoding)
    assert f"iconv -f {encoding} " in fails(parallel, tmp_path, one_side, "1\n2\n")


def test_DAT_14_a_nul_byte_is_no_text(tmp_path):
    message = fails(tsv, tmp_path, b"a\t1\nbc\0\0\t2\n")
    assert "t.tsv:2: expected text; got a NUL byte at byte offset 2 of the line" in message


@pytest.mark.parametrize(
    ("data", "line", "offset", "encoding"),
    [
        ("ok\t1\nna\u00efve\t2\n".encode("latin1"), 2, 2, "LATIN1"),
        ("a\t1\n".encode("utf-16"), 1, 0, "UTF-16"),
        (b"\xfe\xff" + "a\t1\n".encode("utf-16-be"), 1, 0, "UTF-16"),
        (b"a\t\xed\xa0\x80\n", 1, 2, "LATIN1"),  # a surrogate
        (b"a\t\xc0\xaf\n", 1, 2, "LATIN1"),  # an overlong form
    ],
)
def test_DAT_14_the_place_of_the_byte_is_told(tmp_path, data, line, offset, encoding):
    message = fails(tsv, tmp_path, data)
    assert f"t.tsv:{line}: expected UTF-8" in message
    assert f"at byte offset {offset} of the line" in message
    assert f"iconv -f {encoding} " in message


@pytest.mark.parametrize("part", [b"\xe0\xb0", b"\xe0", b"\xf0\x9f\x98"])
def test_DAT_14_a_character_cut_at_the_end_of_the_file_is_called_so(tmp_path, part):
    message = fails(tsv, tmp_path, b"a\t1\nb\t" + part)
    assert message.endswith(
        f"t.tsv:2: expected UTF-8; got byte 0x{part[0]:02x} at byte offset 2 of the line; "
        "the file ends within a character: it was cut off, or is no UTF-8"
    )
    assert "iconv -f LATIN1" in fails(tsv, tmp_path, b"a\t1\nb\t" + part + b"\n")


def test_columns_by_header_name(tmp_path):
    text = "id\ten\tte\n7\tone\tఒకటి\n8\ttwo\tరెండు\n"
    assert tsv(tmp_path, text, "te", "en").pairs == [("ఒకటి", "one"), ("రెండు", "two")]
    assert tsv(tmp_path, text, 2, "te").pairs == [("one", "ఒకటి"), ("two", "రెండు")]


def test_columns_that_are_not_there(tmp_path):
    message = fails(tsv, tmp_path, "english\tte\na\t1\n", "englsh", "te")
    assert message == f"{tmp_path / 't.tsv'}:1: unknown column 'englsh'; did you mean 'english'?"
    assert "unknown column 'en'" in fails(tsv, tmp_path, "", "en", "te")
    assert "both source_column and target_column" in fails(tsv, tmp_path, "a\t1\n", 1)
    for column in (0, -1):
        assert f"at least 1; got {column}" in fails(tsv, tmp_path, "a\t1\n", 1, column)


def test_gz_is_read_as_is(tmp_path):
    path = tmp_path / "t.tsv.gz"
    path.write_bytes(gzip.compress("a\t1\nb\u2028\t2".encode()))
    assert TsvFile(Place(), path=str(path)).read().pairs == [("a", "1"), ("b\u2028", "2")]


@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "no block", "not gzip", "tail"])
def test_damaged_gz_is_refused(tmp_path, damage):
    whole = bytearray(gzip.compress("".join(f"{n}\t{n * n}\n" for n in range(5000)).encode()))
    middle = len(whole) // 2
    flipped = bytes(byte ^ 255 for byte in whole[middle : middle + 40])
    data = {
        "empty": b"",
        "cut": whole[:middle],
        "changed": whole[:middle] + flipped + whole[middle + 40 :],
        "no block": whole[:10] + b"\xff" + whole[11:],
        "not gzip": b"a\t1\n",
        "tail": whole + b"a\t1\n",
    }[damage]
    path = tmp_path / "t.tsv.gz"
    path.write_bytes(data)
    with pytest.raises(DataError, match="expected a whole gzip file") as caught:
        TsvFile(Place(), path=str(path)).read()
    assert str(path) in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "none.tsv"
    with pytest.raises(DataError) as caught:
        TsvFile(Place(), path=str(path)).read()
    assert str(caught.value) == f"{path}: cannot be read; No such file or directory"
    with pytest.raises(DataError, match="cannot be read; Is a directory"):
        list(read_lines(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot be read; Not a directory"):
        list(read_lines(tmp_path / "file" / "t.tsv"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = Path(write(tmp_path / "t.tsv", "a\t1\n"))
    path.chmod(0)
    with pytest.raises(DataError, match="cannot be read; Permission denied"):
        list(read_lines(path))


def test_standard_input_is_read_where_a_path_may_stand(tmp_path, monkeypatch):
    path = write(tmp_path / "in", "\ufeffa\t1\r\nb\t2")
    with open(path, encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", file)
        assert TsvFile(Place(), path=STDIN).read().pairs == [("a", "1"), ("b", "2")]
    monkeypatch.setattr("sys.stdin", None)
    assert fails(TsvFile(Place(), path=STDIN).read) == "<stdin>: expected text; got a closed input"
    with pytest.raises(DataError, match="got standard input for both"):
        ParallelFiles(Place(), source=STDIN, target=STDIN)


def test_a_broken_standard_input_is_named(tmp_path, monkeypatch):
    with open(write(tmp_path / "in", b"a\t\xff\n"), encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", file)
        assert fails(TsvFile(Place(), path=STDIN).read).startswith("<stdin>:1: expected UTF-8")


def test_rows_come_one_by_one(tmp_path):
    """A file need not fit in memory: the rows before a damaged line are there before it is read."""
    path = write(tmp_path / "t.tsv", b"a\t1\nb\t2\n" + b"\xff")
    both = ParallelFiles(Place(), source=path, target=path).rows()
    for rows in (TsvFile(Place(), path=path).rows(), both):
        assert [next(rows).line, next(rows).line] == [1, 2]
        with pytest.raises(DataError):
            next(rows)


def test_an_empty_file_has_no_pairs(tmp_path):
    assert tsv(tmp_path, "").pairs == []
    assert parallel(tmp_path, "", "").pairs == []


def test_lines_from_a_stream():
    assert list(decode_lines([b"a\n", b"\r\n", b"b"], "stdin")) == ["a", "", "b"]
    assert fails(lambda: list(decode_lines([b"a\n", b"\xff\n"], "stdin"))).startswith("stdin:2: ")


def test_readers_are_chosen_by_name(tmp_path):
    from transduce.data.pairs import PairSource

    path = write(tmp_path / "t.tsv", "a\t1\n")
    assert Spec(PairSource, "tsv", {"path": path}).build(Place()).read().pairs == [("a", "1")]
    spec = Spec(PairSource, "parallel", {"source": path, "target": path})
    assert spec.build(Place("dev")).read().pairs == [("a\t1", "a\t1")]


SIDE = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0"),
        st.sampled_from(NOT_LINE_ENDS + "\x01\ufeff\u200d\u00a0\u3000\U0010ffff"),
    ),
    min_size=1,
).filter(lambda text: not is_blank(text) and not text.startswith("\ufeff"))


@given(st.lists(st.tuples(SIDE, SIDE)), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_any_pairs_survive_writing_and_reading(pairs, end, last, packed):
    def text(rows: list[str]) -> bytes:
        joined = end.join(rows) + (end if last and rows else "")
        return gzip.compress(joined.encode()) if packed else joined.encode()

    with tempfile.TemporaryDirectory() as folder:
        suffix = ".gz" if packed else ""
        table = write(Path(folder, "t.tsv" + suffix), text(["\t".join(pair) for pair in pairs]))
        sides = [
            write(Path(folder, name + suffix), text([pair[side] for pair in pairs]))
            for side, name in enumerate(["t.src", "t.tgt"])
        ]
        assert TsvFile(Place(), path=table).read().pairs == pairs
        assert ParallelFiles(Place(), source=sides[0], target=sides[1]).read().pairs == pairs
        rows = [json.dumps({"target": t, "source": s}, ensure_ascii=len(s) > 1) for s, t in pairs]
        objects = write(Path(folder, "t.jsonl" + suffix), text(rows))
        assert JsonLinesFile(Place(), path=objects).read().pairs == pairs
