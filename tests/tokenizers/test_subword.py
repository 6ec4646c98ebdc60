"""What holds for every tokenizer that cuts words into pieces."""

import itertools
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transduce.config import Spec, options_model
from transduce.errors import ConfigError
from transduce.tokenizers import Tokenizer, load_tokenizer, subword
from transduce.tokenizers.subword import WORDS
from transduce.types import SPECIALS, UNK

STEADY = settings(deadline=None, derandomize=True, database=None)
KINDS = [name for name, kind in Tokenizer.family.items() if issubclass(kind, subword.SubwordTokenizer)]
VERBS = [
    f"{verb}{end}" for verb in ("walk", "talk", "jump", "play", "cook") for end in ("", "s", "ed", "ing")
]
CORPUS = [f"they {verb}, or {verb} 42 times..." for verb in VERBS]
texts = st.text(st.sampled_from("aab  .é1\u0301\u00a0నేి👨\u200d") | st.characters(exclude_categories=["Cs"]))
several = st.lists(texts, max_size=4)
every_kind = pytest.mark.parametrize("name", KINDS)


def fitted(name: str, texts: list[str], **options) -> Tokenizer:
    tokenizer = Spec(Tokenizer, name, options).build()
    tokenizer.fit(texts)
    return tokenizer


def pieces(tokenizer: Tokenizer, text: str) -> list[str]:
    return [text[start:end] for start, end in tokenizer.encode(text).offsets]


def test_there_are_three_kinds():
    assert sorted(KINDS) == ["bpe", "unigram", "wordpiece"]


@pytest.mark.parametrize("border", list(WORDS))
@STEADY
@given(text=texts)
def test_words_tile_any_text(border, text):
    words = WORDS[border].findall(text)
    assert "".join(words) == text
    assert all(" " not in word[1:] or not word.strip(" ") for word in words)


@pytest.mark.parametrize(
    ("text", "border", "words"),
    [
        ("Two men, (3) cats.", "punctuation", ["Two", " men", ",", " (", "3", ")", " cats", "."]),
        ("Two men, (3) cats.", "space", ["Two", " men,", " (3)", " cats."]),
        ("a   b  ", "punctuation", ["a", "  ", " b", "  "]),
        ("  a", "space", [" ", " a"]),
        ("   ", "space", ["   "]),
        ("don't", "punctuation", ["don", "'", "t"]),
        ("नमस्ते।", "punctuation", ["नमस्ते", "।"]),
        ("క్షి123", "punctuation", ["క్షి", "123"]),
        ("ক্\u200dষ \u200dx", "punctuation", ["ক্\u200dষ", " \u200d", "x"]),
        ("1\u20e3 x\u0301y", "punctuation", ["1\u20e3", " x\u0301y"]),
        ("a\u00a0b\tc\u3000", "punctuation", ["a", "\u00a0", "b", "\t", "c", "\u3000"]),
        ("👨\u200d👩\u200d👧!", "punctuation", ["👨\u200d👩\u200d👧!"]),
        ("", "punctuation", []),
    ],
)
def test_where_words_end(text, border, words):
    assert WORDS[border].findall(text) == words


@every_kind
@pytest.mark.parametrize("border", list(WORDS))
@STEADY
@given(seen=several, text=texts)
def test_pieces_tile_any_text_and_come_back(name, border, seen, text):
    tokenizer = fitted(name, seen, border=border, vocab_size=40)
    assert SPECIALS <= tokenizer.vocab_size <= 40
    for line in (*seen, text):
        ids, offsets = tokenizer.encode(line)
        edges = [0, *(end for _, end in offsets)]
        assert offsets == list(itertools.pairwise(edges))
        assert edges[-1] == len(line)
        assert all(start < end for start, end in offsets)
        assert all(index == UNK or SPECIALS <= index < tokenizer.vocab_size for index in ids)
        for index, piece in zip(ids, pieces(tokenizer, line), strict=True):
            assert tokenizer.token(index) == piece if index != UNK else len(piece) == 1
        if UNK not in ids:
            assert tokenizer.decode(ids) == tokenizer.normalise(line) == line


@every_kind
@STEADY
@given(seen=several)
def test_every_known_character_is_a_token(name, seen):
    tokenizer = fitted(name, seen)
    letters = {letter for text in seen for letter in text}
    assert letters <= {tokenizer.token(index) for index in range(SPECIALS, tokenizer.vocab_size)}
    assert all(UNK not in tokenizer.encode(letter).ids for letter in letters)


@every_kind
def test_no_piece_crosses_the_border_of_a_word(name):
    for border in WORDS:
        tokenizer = fitted(name, CORPUS * 3, border=border)
        for index in range(SPECIALS, tokenizer.vocab_size):
            assert len(WORDS[border].findall(tokenizer.token(index))) == 1


@every_kind
def test_a_word_after_a_space_is_one_piece_and_each_further_space_another(name):
    tokenizer = fitted(name, ["the dog and the dog"] * 9)
    assert pieces(tokenizer, "the dog") == ["the", " dog"]
    assert "".join(pieces(tokenizer, "  the   dog ")) == "  the   dog "
    assert pieces(tokenizer, "and   the")[-1] == " the"


@every_kind
@pytest.mark.parametrize("size", [5, 12, 28, 29, 30, 50])
def test_vocab_size_counts_everything(name, size):
    tokenizer = fitted(name, CORPUS * 2, vocab_size=size)
    letters = {letter for text in CORPUS for letter in text}
    assert SPECIALS + len(letters) == 29
    if name == "unigram":
        assert min(size, 29) <= tokenizer.vocab_size <= size
    else:
        assert tokenizer.vocab_size == size
    kept = {tokenizer.token(index) for index in range(SPECIALS, tokenizer.vocab_size)}
    assert len(letters & kept) == min(size - SPECIALS, len(letters))
    if size >= 29:
        assert all(tokenizer.decode(tokenizer.encode(text).ids) == text for text in CORPUS)


@every_kind
def test_the_rarest_characters_go_first(name):
    tokenizer = fitted(name, ["ccc bb aa"], vocab_size=SPECIALS + 3)
    kept = sorted(tokenizer.token(index) for index in (4, 5, 6))
    assert kept == [" ", "a", "c"]  # of equals the first code points stay
    tokenizer = fitted(name, ["aaa bb c"], min_count=2)
    assert [index == UNK for index in tokenizer.encode("c").ids] == [True]
    assert UNK not in tokenizer.encode("a b").ids


@every_kind
def test_little_data_gives_few_ids(name):
    assert fitted(name, ["ab"]).vocab_size == SPECIALS + 2
    assert fitted(name, [""]).vocab_size == fitted(name, []).vocab_size == SPECIALS
    assert fitted(name, ["ab"] * 5).vocab_size <= SPECIALS + 3


@every_kind
def test_the_order_of_the_texts_does_not_matter(name):
    states = [fitted(name, order, vocab_size=60).state() for order in (CORPUS, CORPUS[::-1], sorted(CORPUS))]
    assert states[0] == states[1] == states[2]


@every_kind
def test_an_unknown_character_leaves_its_neighbours_known(name):
    tokenizer = fitted(name, CORPUS * 3)
    ids, offsets = tokenizer.encode(" walkßßing")
    assert [" walkßßing"[start:end] for start, end in offsets].count("ß") == ids.count(UNK) == 2
    assert tokenizer.decode(ids) == " walk<unk><unk>ing"


@every_kind
def test_what_is_remembered_changes_nothing(name, monkeypatch):
    tokenizer = fitted(name, CORPUS)
    first = [tokenizer.encode(text) for text in CORPUS]
    monkeypatch.setattr(subword, "CACHED", 2)
    tokenizer.fit(CORPUS)
    assert [tokenizer.encode(text) for text in CORPUS * 2] == first * 2
    assert len(tokenizer.remembered) <= 2
    tokenizer.fit(["walk"])  # nothing is remembered of the old vocabulary
    assert UNK in tokenizer.encode(CORPUS[0]).ids


@every_kind
@pytest.mark.parametrize("options", [{"vocab_size": 4}, {"vocab_size": -1}, {"min_count": 0}])
def test_sizes_that_leave_nothing_are_refused(name, options):
    with pytest.raises(ConfigError, match="expected more than the 4 special ids, and at least 1; got"):
        Spec(Tokenizer, name, options).build()


@pytest.mark.parametrize(
    ("name", "option"),
    [("bpe", "min_pair_count"), ("wordpiece", "min_pair_count"), ("unigram", "max_length")],
)
def test_other_sizes_below_one_are_refused(name, option):
    with pytest.raises(ConfigError, match=f"^{option}: expected at least 1; got 0$"):
        Spec(Tokenizer, name, {option: 0}).build()


@every_kind
def test_the_defaults(name):
    fields = options_model(Tokenizer.family[name]).model_fields
    defaults = {key: field.default for key, field in fields.items()}
    assert defaults.pop("vocab_size") == 8000
    assert defaults.pop("min_count") == 1
    assert defaults.pop("border") == "punctuation"
    assert defaults.pop("normal_form") == "none"
    assert defaults == {
        "bpe": {"min_pair_count": 2, "dropout": 0.0},
        "unigram": {"max_length": 16, "sample": None},
        "wordpiece": {"min_pair_count": 2},
    }.get(name)


@every_kind
@pytest.mark.parametrize("symbols", [["a", "ab"], ["a", ""], ["a", "a"], [1], None], ids=str)
def test_a_damaged_vocabulary_is_refused(name, symbols):
    tokenizer = fitted(name, ["ab"])
    with pytest.raises((ValueError, TypeError)):  # which `load_tokenizer` turns into a CheckpointError
        tokenizer.load_state({**tokenizer.state(), "symbols": symbols})


SCRIPT = """
import sys
from pathlib import Path
from transduce.config import Spec
from transduce.tokenizers import Tokenizer
words = [f"{a}{b}{c}" for a in "klmn" for b in "aeiou" for c in "rstv"]  # all equally frequent
lines = [f"{x} {y}, {z}" for x, y, z in zip(words, words[7:] + words[:7], words[::-1])]
for name in Tokenizer.family:
    tokenizer, spec = Spec(Tokenizer, name).build(), Spec(Tokenizer, name)
    if "vocab_size" in spec.plain():
        spec = Spec(Tokenizer, name, {"vocab_size": 70})
        tokenizer = spec.build()
    tokenizer.fit(lines)
    tokenizer.save(Path(sys.argv[1]) / f"{name}.json", spec)
"""


def test_every_process_learns_the_same(tmp_path):
    running = []
    for number, (seed, threads) in enumerate([("0", "1"), ("1", "4"), ("random", "2")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": threads}
        running.append(subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)], env=environment))
    assert [process.wait(60) for process in running] == [0, 0, 0]
    for name in Tokenizer.family:
        files = [(tmp_path / str(number) / f"{name}.json").read_bytes() for number in range(3)]
        assert files[0] == files[1] == files[2]
        assert load_tokenizer(tmp_path / "0" / f"{name}.json").vocab_size > 15
