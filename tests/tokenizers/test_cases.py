"""Failure kinds from public reports (TXT-*), over every tokenizer there is."""

import pytest

from transduce.config import Spec, options_model
from transduce.tokenizers import Tokenizer, load_tokenizer
from transduce.types import SPECIALS, UNK

SINHALA = "\u0dc1\u0dca\u200d\u0dbb\u0dd3 \u0dbd\u0d82\u0d9a\u0dcf"
HINDI = "\u0939\u093f\u0928\u094d\u0926\u0940 \u0935\u093f\u0915\u093f\u092a\u0940\u0921\u093f\u092f\u093e"
ARABIC = "\u0636\u064e\u0645\u064e\u0651\u0629 \u200f(\u0627\u062e\u062a\u0628\u0627\u0631) 12"
INDIC = ["ക്\u200dഷ", "ಕ್\u200dಷ", "क्\u200dष", "শ্\u200cষ", "ก็ี้", "بِسْمِ", "שָׁלוֹם", "tie\u0302\u0301ng"]

pytestmark = pytest.mark.parametrize("name", list(Tokenizer.family))


def fitted(name: str, texts: list[str], **options) -> Tokenizer:
    tokenizer = Spec(Tokenizer, name, options).build()
    tokenizer.fit(texts)
    return tokenizer


def labels(tokenizer: Tokenizer, text: str) -> list[str]:
    return [text[start:end] for start, end in tokenizer.encode(text).offsets]


def again(tokenizer: Tokenizer, text: str) -> str:
    return tokenizer.decode(tokenizer.encode(text).ids)


def survives(name: str, text: str, **options) -> list[str]:
    """Checks that a text comes back code point by code point, seen alone or among others; its tokens."""
    for texts in ([text], [text, SINHALA, HINDI, ARABIC, *INDIC]):
        tokenizer = fitted(name, texts, **options)
        assert again(tokenizer, text) == text
        assert UNK not in tokenizer.encode(text).ids
        assert "".join(labels(tokenizer, text)) == (text.replace(" ", "") if name == "word" else text)
    return labels(fitted(name, [text], **options), text)


def test_TXT_01_the_zero_width_joiner_survives(name):
    tokens = survives(name, SINHALA)
    assert len(SINHALA) == 10
    assert SINHALA[2] == "\u200d"
    if name == "word":
        assert tokens == SINHALA.split(" ")
    if name == "char":
        assert tokens[0] == SINHALA[:3]  # in the cluster that it joins


@pytest.mark.parametrize("text", [*INDIC, "\u200d \u200c", "\u200b", "a\u200cb\u2060c\ufeffd"], ids=ascii)
def test_TXT_01_marks_and_joiners_of_any_script_survive(name, text):
    survives(name, text)


def test_TXT_03_combining_marks_stay_in_their_words(name):
    tokens = survives(name, HINDI)
    assert len(HINDI) == 17
    if name == "word":
        assert tokens == HINDI.split(" ")
    if name == "char":
        assert len(tokens) == 8
        assert len(labels(fitted(name, [HINDI], unit="code_point"), HINDI)) == 17


def test_TXT_03_marks_do_not_end_a_word(name):
    options = options_model(Tokenizer.family[name]).model_fields
    for border in ("punctuation", "space") if "border" in options else ():
        for text in (HINDI, *INDIC):
            tokenizer = fitted(name, [text] * 3, border=border)  # a word seen three times is one piece
            assert len(labels(tokenizer, text)) == 1 + text.count(" ")


def test_TXT_08_right_to_left_text_keeps_its_order_and_its_marks(name):
    tokens = survives(name, ARABIC)
    assert "\u200f" in "".join(tokens)
    offsets = fitted(name, [ARABIC]).encode(ARABIC).offsets
    assert offsets == sorted(offsets)  # logical order


STRANGE = ["a", "\u00a0", "b\u00a0c", "\u3000", "\u0085", "\u2028", "\u00adx"]


def test_TXT_09_every_space_survives_saving_and_loading(name, tmp_path):
    tokenizer = fitted(name, STRANGE)
    if name == "word":
        assert tokenizer.symbols == STRANGE
    tokenizer.save(tmp_path / "tokenizer.json", Spec(Tokenizer, name))
    loaded = load_tokenizer(tmp_path / "tokenizer.json")
    assert loaded.state() == tokenizer.state()
    assert loaded.vocab_size == tokenizer.vocab_size
    for text in (*STRANGE, "\u00a0".join(STRANGE)):
        assert loaded.encode(text) == tokenizer.encode(text)
        if UNK not in loaded.encode(text).ids:
            assert again(loaded, text) == text


def test_TXT_09_every_space_is_kept_apart(name):
    spaces = [c for c in map(chr, range(0x10000)) if c.isspace() and c != " "] + ["\u180e", "\u200b", "\0"]
    text = " ".join(f"a{space}b" for space in spaces)
    tokenizer = fitted(name, [text])
    assert again(tokenizer, text) == text
    assert len({tuple(tokenizer.encode(f"a{space}b").ids) for space in spaces}) == len(spaces)


SPECIAL_TEXT = "a <s> b </s> <pad> <unk> c"
LOOKALIKES = [
    "<pad>",
    "<unk>",
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "<UNK>",
    "pad token",
]


def test_TXT_11_text_that_looks_special_is_text(name):
    tokenizer = fitted(name, [SPECIAL_TEXT, *LOOKALIKES])
    for text in (SPECIAL_TEXT, *LOOKALIKES):
        assert min(tokenizer.encode(text).ids) >= SPECIALS
        assert again(tokenizer, text) == text
    known, unknown = tokenizer.encode("<unk>").ids, tokenizer.encode("\U0001f600").ids
    assert set(unknown) == {UNK}
    assert UNK not in known


def test_TXT_11_text_that_looks_special_moves_no_id(name):
    often = [look for look in LOOKALIKES for _ in range(9)]
    tokenizer = fitted(name, [*often, "plain text"])
    assert min(tokenizer.encode(" ".join(LOOKALIKES)).ids) >= SPECIALS
    assert {tokenizer.token(index) for index in range(SPECIALS)} == {"<unk>"}
    assert (
        fitted(name, ["plain text"]).encode(SPECIAL_TEXT).ids.count(UNK) > 0
    )  # unseen is unknown, not special


MARKED = [
    "x@@ y",
    "a@@",
    "\u2581b c",
    "c\u2581d",
    "##a b##",
    "Ġa bĊ",
    "</w> a</w>",
    "@@ @@",
    "\u2581",
    "@-@ ￭",
]


@pytest.mark.parametrize("text", MARKED)
def test_TXT_13_marks_of_other_toolkits_are_text(name, text):
    for texts in ([text], MARKED, MARKED * 5):
        assert again(fitted(name, texts), text) == text


@pytest.mark.parametrize("text", ["foobar tot", "foobar totally"])
def test_TXT_13_a_hypothesis_cut_anywhere_holds_no_mark(name, text):
    tokenizer = fitted(name, ["foo bar tot", "foobar totally", "all fool"] * 3)
    ids = tokenizer.encode(text).ids
    for length in range(len(ids)):
        assert text.startswith(tokenizer.decode(ids[:length]))
    assert "".join(map(tokenizer.token, ids)) == (text.replace(" ", "") if name == "word" else text)


@pytest.mark.parametrize(("text", "columns"), [("abz", [0, 0, 1]), ("\u00df", [1]), ("\U0001f600", [1])])
def test_TXT_15_an_unseen_character_is_one_unknown_token(name, text, columns):
    tokenizer = fitted(name, ["abc", "def", "fed", "cab"])
    ids, offsets = tokenizer.encode(text)
    if name == "word":
        assert (ids, offsets) == ([UNK], [(0, len(text))])
        return
    unknown = [text[start:end] for index, (start, end) in zip(ids, offsets, strict=True) if index == UNK]
    assert unknown == [letter for letter, new in zip(text, columns, strict=True) if new]
    assert "".join(labels(tokenizer, text)) == text
    if name == "char":
        assert [index == UNK for index in ids] == list(map(bool, columns))


@pytest.mark.parametrize(
    "text", ["zzz", "a\U0001f600\U0001f600b", "z a z", "\u200d\u200d", "\ud800", "az" * 500]
)
def test_TXT_15_nothing_unseen_is_an_error(name, text):
    for texts in (["ab", "ba ab"], []):
        tokenizer = fitted(name, texts)
        ids, offsets = tokenizer.encode(text)
        assert UNK in ids
        assert all(start < end for start, end in offsets)
        assert "".join(labels(tokenizer, text)).replace(" ", "") == text.replace(" ", "")
        assert "<unk>" in tokenizer.decode(ids)
