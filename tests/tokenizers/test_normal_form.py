"""Normal forms, with places that lead back to the text as it was given."""

import unicodedata

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from transduce.config import Spec
from transduce.errors import ConfigError
from transduce.experiment import load_experiment
from transduce.tokenizers import Tokenizer
from transduce.tokenizers.normal_form import joins, normalised, places, stretches

STEADY = settings(deadline=None, derandomize=True, database=None)
FORMS = ["none", "nfc", "nfd", "nfkc", "nfkd"]
KINDS = list(Tokenizer.family)
MARKS = (
    "\u0301\u0323\u0308\u0334\u0338\u0344\u0345\u05b0\u093c\u094d\u09be\u0b3e\u0f71\u0f72\u0f73\u200d\u3099"
)
BASES = (
    "aeA éậﬁ①ⅳｶか한각\u1100\u1161\u11a8\uff9e\uffc2\u3147\u0915\u0958\u09c7\u0b47\u212b\u2126\u00a0\u00b4>"
)
hard = st.text(st.sampled_from(BASES + MARKS) | st.characters(exclude_categories=["Cs"]), max_size=12)


def fitted(name: str, texts: list[str], **options) -> Tokenizer:
    tokenizer = Spec(Tokenizer, name, options).build()
    tokenizer.fit(texts)
    return tokenizer


@pytest.mark.parametrize("form", FORMS[1:])
@STEADY
@given(text=hard)
@example(text="a\u0323\u0301\u0344b")
@example(text="\u0301")
@example(text="a\u0301\u0334")
@example(text="\u1100\u1161\u11a8\u11a8")
def test_cut_apart_a_text_has_the_same_normal_form(form, text):
    parts = list(stretches(text))
    assert "".join(part for _, part in parts) == text
    assert [text[start : start + len(part)] for start, part in parts] == [part for _, part in parts]
    whole = unicodedata.normalize(form.upper(), text)
    assert "".join(normalised(part, form) for _, part in parts) == normalised(text, form) == whole


@pytest.mark.parametrize("form", FORMS)
@STEADY
@given(text=hard)
def test_every_code_point_has_a_place(form, text):
    starts, ends = places(text, form)
    assert len(starts) == len(ends) == len(normalised(text, form))
    assert starts == sorted(starts)
    assert ends == sorted(ends)
    edges = [0, *ends]
    assert all(start <= before for start, before in zip(starts, edges, strict=False))
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    assert edges[-1] == len(text)


def test_what_composes_is_what_unicode_says_may_compose():
    maybe = regex.compile(r"\p{NFC_Quick_Check=Maybe}")
    for code in range(0x20000):
        character = chr(code)
        if unicodedata.category(character) not in ("Cn", "Cs") and maybe.match(character):
            assert joins(character), ascii(character)
    assert not any(map(joins, "aक한か \u00a0\u200d\u0903"))  # a spacing vowel sign that never composes


@pytest.mark.parametrize(
    ("text", "form", "found"),
    [
        ("e\u0301a", "nfc", [("é", 0, 2), ("a", 2, 3)]),
        ("éa", "nfd", [("e", 0, 1), ("\u0301", 0, 1), ("a", 1, 2)]),
        ("eéx\u0301", "nfc", [("e", 0, 1), ("é", 1, 2), ("x", 2, 3), ("\u0301", 3, 4)]),
        ("ﬁx", "nfkc", [("f", 0, 1), ("i", 0, 1), ("x", 1, 2)]),
        ("ﬁx", "nfc", [("ﬁ", 0, 1), ("x", 1, 2)]),
        ("\u0958", "nfc", [("\u0915", 0, 1), ("\u093c", 0, 1)]),
        ("ｶﾞ!", "nfkc", [("ガ", 0, 2), ("!", 2, 3)]),
        ("한", "nfd", [("\u1112", 0, 1), ("\u1161", 0, 1), ("\u11ab", 0, 1)]),
        ("\u1112\u1161\u11ab", "nfc", [("한", 0, 3)]),
        ("a\u0301\u0323", "nfc", [("ạ", 0, 3), ("\u0301", 0, 3)]),
        ("x\u0301\u0323", "nfd", [("x", 0, 3), ("\u0323", 0, 3), ("\u0301", 0, 3)]),
        ("a\u00a0b", "nfkc", [("a", 0, 1), (" ", 1, 2), ("b", 2, 3)]),
        ("e\u0301", "none", [("e", 0, 1), ("\u0301", 1, 2)]),
        ("", "nfc", []),
    ],
)
def test_places_by_example(text, form, found):
    assert list(zip(normalised(text, form), *places(text, form), strict=True)) == found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KINDS)
@STEADY
@given(text=hard)
@example(text="e\u0301\u0958")
@example(text="\u0958e\u0301a")
def test_tokens_of_a_normal_form_point_into_the_text_as_given(name, form, text):
    tokenizer = fitted(name, [text], normal_form=form)
    ids, offsets = tokenizer.encode(text)
    assert tokenizer.decode(ids) == tokenizer.normalise(text)
    assert tokenizer.normalise(tokenizer.normalise(text)) == tokenizer.normalise(text)
    assert tokenizer.encode(tokenizer.normalise(text)).ids == ids
    before = (0, 0)
    for index, (start, end) in zip(ids, offsets, strict=True):
        assert start < end
        assert before[0] <= start
        assert before[1] <= end
        gap = text[before[1] : start]  # only the word tokenizer leaves any
        assert not gap or (name == "word" and set(normalised(gap, form)) == {" "})
        assert tokenizer.token(index) in normalised(text[start:end], form)
        before = (start, end)
    rest = text[before[1] :]
    assert not rest or (name == "word" and set(normalised(rest, form)) == {" "})


@pytest.mark.parametrize("name", KINDS)
def test_TXT_05_composed_and_decomposed_text_are_one(name):
    composed = "café à la crème"
    decomposed = unicodedata.normalize("NFD", composed)
    assert (len(composed), len(decomposed)) == (15, 18)
    for form in ("nfc", "nfd"):
        tokenizer = fitted(name, [composed], normal_form=form)
        assert fitted(name, [decomposed], normal_form=form).state() == tokenizer.state()
        assert tokenizer.encode(composed).ids == tokenizer.encode(decomposed).ids
        assert tokenizer.normalise(composed) == tokenizer.normalise(decomposed)
        assert tokenizer.decode(tokenizer.encode(decomposed).ids) == normalised(composed, form)
    tokenizer = fitted(name, [composed], normal_form="nfc")
    for text in (composed, decomposed):  # nothing is normalised away, no mark is cut off
        labels = [text[start:end] for start, end in tokenizer.encode(text).offsets]
        assert "".join(labels) == (text.replace(" ", "") if name == "word" else text)
        assert [normalised(label, "nfc") for label in labels] == list(
            map(tokenizer.token, tokenizer.encode(text).ids)
        )
    assert fitted(name, [composed]).encode(composed).ids != fitted(name, [composed]).encode(decomposed).ids


@pytest.mark.parametrize("name", KINDS)
def test_the_normal_form_is_an_option_of_every_kind(name):
    tree = {"data": {"train": "x.tsv"}, "tokenizer": {"source": {"name": name, "normal_form": "nfc"}}}
    assert load_experiment(tree).tokenizer.source.plain()["normal_form"] == "nfc"
    assert Spec(Tokenizer, name).plain()["normal_form"] == "none"
    tree["tokenizer"]["source"]["normal_form"] = "NFC"
    with pytest.raises(ConfigError, match="normal_form: expected 'none', 'nfc'"):
        load_experiment(tree)


def test_a_compatible_space_separates_words():
    tokenizer = fitted("word", ["a\u00a0b\u3000c"], normal_form="nfkc")
    assert tokenizer.symbols == ["a", "b", "c"]
    assert tokenizer.encode("a\u00a0b c").offsets == [(0, 1), (2, 3), (4, 5)]
    assert tokenizer.normalise("\u00a0a\u3000 b") == "a b"
