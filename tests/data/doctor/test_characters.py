"""Invisible characters, normal forms, alphabets, lookalikes, spaces and broken encodings."""

import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.doctor.rows import ODD, found, only
from transduce.data.doctor.alphabets import printable, script
from transduce.data.doctor.invisible import is_faulty, is_hidden
from transduce.data.doctor.mojibake import meant
from transduce.data.lines import is_blank

TEXT = st.text(st.sampled_from(ODD), min_size=1, max_size=6).filter(lambda text: not is_blank(text))


@given(st.lists(TEXT, min_size=1, max_size=10))
def test_invisible_characters_are_counted_by_side_and_line(texts):
    findings = found("invisible", [("a", text) for text in texts])
    times = Counter(character for character in "".join(texts) if is_hidden(character))
    assert {f.values["code_point"]: f.values["times"] for f in findings} == {
        f"U+{ord(character):04X}": count for character, count in times.items()
    }
    for finding in findings:
        character = chr(int(finding.values["code_point"][2:], 16))
        assert finding.lines == [line for line, text in enumerate(texts, 1) if character in text]
        assert finding.count == len(finding.lines)
        assert finding.values["side"] == "target"


@pytest.mark.parametrize(
    ("character", "level", "name"),
    [
        ("\u200d", "note", "U+200D ZERO WIDTH JOINER"),
        ("\u200c", "note", "U+200C ZERO WIDTH NON-JOINER"),
        ("\u200b", "note", "U+200B ZERO WIDTH SPACE"),
        ("\u200e", "note", "U+200E LEFT-TO-RIGHT MARK"),
        ("\u202e", "note", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("\u2067", "note", "U+2067 RIGHT-TO-LEFT ISOLATE"),
        ("\u00a0", "note", "U+00A0 NO-BREAK SPACE"),
        ("\u3000", "note", "U+3000 IDEOGRAPHIC SPACE"),
        ("\u00ad", "note", "U+00AD SOFT HYPHEN"),
        ("\ufe0f", "note", "U+FE0F VARIATION SELECTOR-16"),
        ("\u3164", "note", "U+3164 HANGUL FILLER"),
        ("\ue000", "note", "U+E000 without a name"),
        ("\ufeff", "fault", "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
        ("\ufffd", "fault", "U+FFFD REPLACEMENT CHARACTER"),
        ("\x07", "fault", "U+0007 without a name"),
        ("\x1b", "fault", "U+001B ESCAPE"),
        ("\t", "fault", "U+0009 TAB"),
        ("\r", "fault", "U+000D CARRIAGE RETURN"),
        ("\x85", "fault", "U+0085 NEXT LINE"),
        ("\u2028", "fault", "U+2028 LINE SEPARATOR"),
        ("\uffff", "fault", "U+FFFF without a name"),
    ],
)
def test_each_is_named_and_judged(character, level, name):
    finding = only("invisible", [("a", "b"), (f"a{character}b{character}", "x")])
    assert (finding.level, finding.count, finding.lines) == (level, 1, [2])
    assert finding.text.startswith(f"source: {name}, 2 times in 1 line")


@pytest.mark.parametrize("character", "a1.é\u0301జ్ー漢 ʷˈ")
def test_what_can_be_seen_is_not_hidden(character):
    assert not is_hidden(character)


def test_joiners_are_never_faults():
    assert not any(map(is_faulty, "\u200c\u200d\u200b\u200e\u200f\u061c"))
    assert "mostly right" in only("invisible", [("క్\u200cష", "x")]).text


@given(st.lists(st.text(st.sampled_from("aé\u0301\u1e0b\u0323\u0344e"), min_size=1, max_size=4), min_size=1))
def test_normal_forms_are_counted_as_unicode_tells(texts):
    kinds = Counter(
        (unicodedata.normalize("NFC", text) == text, unicodedata.normalize("NFD", text) == text)
        for text in texts
    )
    counts = {"nfc": kinds[True, False], "nfd": kinds[False, True], "neither": kinds[False, False]}
    findings = found("normal_forms", [(text, "x") for text in texts])
    mixed = counts["neither"] > 0 or min(counts["nfc"], counts["nfd"]) > 0
    level = "fault" if mixed else "note" if counts["nfd"] else None
    assert [finding.level for finding in findings] == [level] * (level is not None)
    for finding in findings:
        assert finding.values == {"side": "source", **counts}


def test_the_rarer_form_is_the_one_whose_lines_are_named():
    composed, decomposed, neither = "\u00e9", "e\u0301", "\u1e0b\u0323"
    pairs = [("x", text) for text in [*[composed] * 5, decomposed, "e", neither, decomposed]]
    finding = only("normal_forms", pairs)
    assert (finding.lines, finding.count) == ([6, 8, 9], 3)
    assert finding.text.startswith("target: 5 lines in NFC, 2 in NFD and 1 in neither form")
    other = only("normal_forms", [("x", text) for text in [composed, *[decomposed] * 5]])
    assert other.lines == [1]
    assert "5 lines in NFD, 1 in NFC" in other.text
    assert "set tokenizer.target.normal_form" in only("normal_forms", [("x", decomposed)]).text


def test_alphabets_by_hand():
    source, target = found("alphabet", [("Привет mir\u0301 1!", "నమస్తే"), ("Привет mir 2!", "నమస్తే")])
    assert source.values["scripts"] == {"Cyrillic": 12, "Latin": 6}
    assert source.text == "source: 14 different characters; letters: Cyrillic 67 %, Latin 33 %"
    assert target.values["scripts"] == {"Telugu": 8}
    counts = Counter("Привет mir\u0301 1!" + "Привет mir 2!")
    assert source.values["rare"] == sorted(one for one in counts if counts[one] <= 2)


def test_letters_have_scripts_and_nothing_else_has():
    assert [script(one) for one in "aЖβ漢かカ한కខم"] == [
        "Latin", "Cyrillic", "Greek", "Han", "Hiragana", "Katakana", "Hangul", "Telugu", "Khmer", "Arabic",
    ]  # fmt: skip
    assert [script(one) for one in "1.\u0301 ʷ\u200d"] == [""] * 6
    assert [printable(one) for one in "a\u0301\u200d "] == ["a", "\u25cc\u0301", "U+200D", "U+0020"]


@pytest.mark.parametrize(
    ("word", "letters"),
    [
        ("Mосква", "U+004D LATIN CAPITAL LETTER M"),
        ("раypal", "U+0440 CYRILLIC SMALL LETTER ER, U+0430 CYRILLIC SMALL LETTER A"),
        ("Αthens", "U+0391 GREEK CAPITAL LETTER ALPHA"),
        ("ккα", "U+03B1 GREEK SMALL LETTER ALPHA"),
        ("a\u0301к", "U+043A CYRILLIC SMALL LETTER KA"),
    ],
)
def test_words_of_two_alphabets_are_shown_with_the_odd_letters(word, letters):
    finding = only("mixed_scripts", [("ok", "x"), (f"да {word} yes", "x")])
    assert (finding.level, finding.lines) == ("note", [2])
    assert finding.examples == [f"{word!r}: {letters}"]


@pytest.mark.parametrize(
    "text", ["Москва mir", "Москва-mir", "tʃ θɪn aβa χʷa", "άνθρωποσ βάθρα χά", "T恤", "నా tv", "x2б", "Ω 5"]
)
def test_alphabets_side_by_side_are_no_mixture(text):
    assert found("mixed_scripts", [(text, text)]) == []


def test_white_space_at_the_ends_and_twice_in_a_row():
    pairs = [("a b", "x"), (" a", "x"), ("a\u00a0", "x"), ("a  b", "x"), ("a", "x \u3000y"), ("  a", "x")]
    kinds = {(f.values["side"], f.text.split("line")[1].strip("s ")): f.lines for f in found("spaces", pairs)}
    assert kinds == {
        ("source", "with white space at an end"): [2, 3, 6],
        ("source", "with two spaces in a row"): [4],
        ("target", "with two spaces in a row"): [5],
    }


@given(
    st.text(st.characters(min_codepoint=0xA1, max_codepoint=0xFFFF, exclude_categories=["Cs"]), min_size=1)
)
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_text_read_in_a_wrong_encoding_is_recognised(encoding, text):
    try:
        broken = text.encode().decode(encoding)
    except UnicodeDecodeError:  # bytes that Windows-1252 lacks
        return
    if meant_by_closing(broken):
        return
    finding = only("mojibake", [("a", "b"), (broken, "x")])
    assert (finding.level, finding.lines) == ("fault", [2])
    assert finding.examples


def meant_by_closing(broken: str) -> bool:
    """Runs that end in quotation marks, as good text does, are let pass."""
    return all(
        character in "»«”“’‘…–—•›‹" or (character > "\u00bf" and character < "\u0100") for character in broken
    )


@pytest.mark.parametrize(
    "text", ["été", "«CAFÉ»", "ÜBER…", "naïve", "Ã", "São Paulo", "àéîõü", "É”", "క", "ã ©"]
)
def test_good_text_is_not_called_broken(text):
    assert found("mojibake", [(text, text)]) == []


@pytest.mark.parametrize(
    ("run", "text"), [("Ã©", "é"), ("â‚¬", "€"), ("à°•", "క"), ("ðŸ˜€", "😀"), ("É»", "")]
)
def test_what_was_meant(run, text):
    assert meant(run) == text
