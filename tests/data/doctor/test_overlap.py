"""What two files share, and line ends."""

import gzip

from hypothesis import given
from hypothesis import strategies as st

from tests.data.doctor.rows import found, rows
from transduce.data.doctor.line_ends import line_ends
from transduce.data.doctor.overlap import Known, Leakage, Unseen

FEW = st.sampled_from("abcde")
PAIRS = st.lists(st.tuples(FEW, FEW), min_size=1, max_size=10)


@given(PAIRS, PAIRS)
def test_leakage_is_counted_as_sets_would(train, test):
    known = Known("train.tsv", rows([*train, ("", "a")]))
    pairs = [line for line, pair in enumerate(test, 1) if pair in train]
    sources = [line for line, pair in enumerate(test, 1) if pair[0] in {source for source, _ in train}]
    wanted = [("fault", "pairs", pairs)] * bool(pairs)
    wanted += [("note", "sources", sources)] * (len(sources) > len(pairs))
    assert [(f.level, f.values["what"], f.lines) for f in found(Leakage(known), test)] == wanted


def test_leakage_in_words():
    known = Known("train.tsv", rows([("c", "3")]))
    texts = [finding.text for finding in found(Leakage(known), [("c", "3"), ("c", "9")])]
    assert texts == ["1 of 2 pairs (50 %) also in train.tsv", "2 of 2 sources (100 %) also in train.tsv"]


@given(PAIRS, PAIRS)
def test_unseen_characters_are_those_that_training_lacks_on_the_same_side(train, test):
    findings = found(Unseen(Known("train.tsv", rows(train))), test)
    wanted = {}
    for number, side in enumerate(("source", "target")):
        unseen = {pair[number] for pair in test} - {pair[number] for pair in train}
        if unseen:
            wanted[side] = (
                sorted(unseen),
                [line for line, pair in enumerate(test, 1) if pair[number] in unseen],
            )
    assert {f.values["side"]: (f.values["characters"], f.lines) for f in findings} == wanted


def test_unseen_characters_are_named_and_many_are_cut_short():
    known = Known("train.tsv", rows([("a", "a")]))
    (finding,) = found(Unseen(known), [("a", "aక\u200d"), ("a", "a")])
    assert finding.examples == ["క U+0C15 TELUGU LETTER KA", "U+200D ZERO WIDTH JOINER"]
    assert finding.text == "target: 2 characters in 1 line that train.tsv never shows"
    (finding,) = found(Unseen(known), [("bcdefghijk", "a")])
    assert finding.examples[2:] == ["d U+0064 LATIN SMALL LETTER D", "and 7 more: e f g h i j k"]
    many = "".join(chr(0x4E00 + number) for number in range(30))
    (finding,) = found(Unseen(known), [(many, "a")])
    assert finding.examples[-1] == f"and 27 more: {' '.join(many[3:23])} …"


def test_pairs_that_look_alike_are_shared_whatever_their_normal_form_and_spaces():
    known = Known("train.tsv", rows([("\u00e9 a", "x"), ("b", "n\u0303")]))
    leaks = found(Leakage(known), [("e\u0301  a ", " x"), ("b", "\u00f1"), ("B", "\u00f1")])
    assert [(finding.level, finding.count, finding.lines) for finding in leaks] == [("fault", 2, [1, 2])]


def test_line_ends_and_marks_of_a_file(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_bytes(b"\xef\xbb\xbfa\t1\r\nb\t2\n\xef\xbb\xbfc\t3\r\n")
    ends, marks = line_ends(str(path))
    assert (ends.check, ends.level, ends.count, ends.lines) == ("line_ends", "note", 2, [1, 3])
    assert "in 2 lines of 3" in ends.text
    assert (marks.check, marks.level, marks.count, marks.lines) == ("byte_order_mark", "note", 2, [1, 3])
    packed = tmp_path / "t.tsv.gz"
    packed.write_bytes(gzip.compress(b"a\t1\r\nb\t2\r\n"))
    (ends,) = line_ends(str(packed))
    assert (ends.count, ends.lines) == (2, [])  # all lines: no need to list them
    path.write_bytes(b"a\t\xef\xbb\xbf1\nb\t2\n")  # two files put side by side
    (marks,) = line_ends(str(path))
    assert (marks.check, marks.count, marks.lines) == ("byte_order_mark", 1, [1])
    path.write_bytes(b"a\r\t1\nb\t2")
    assert list(line_ends(str(path))) == []
