"""Words between spaces, and the vocabulary that symbol tokenizers share."""

import pytest

from transduce.config import Spec
from transduce.errors import ConfigError
from transduce.tokenizers import Tokenizer
from transduce.tokenizers.char import CharTokenizer
from transduce.tokenizers.word import WordTokenizer
from transduce.types import BOS, EOS

SEPARATORS = "\u00a0\u2003\u3000\u2028\u2029\x85\x0b\x0c\x1c\t\r\u200d\u200c\u202f\ufeff"
ENGLISH, TELUGU = "I am a very lucky man", "నేను చాలా అదృష్టవంతుడిని"


def pieces(text: str) -> list[str]:
    return [text[start:end] for start, end in WordTokenizer().encode(text).offsets]


def vocabulary(kind: type, texts: list[str], **options) -> list[str]:
    tokenizer = kind(**options)
    tokenizer.fit(texts)
    return tokenizer.symbols


@pytest.mark.parametrize("mark", SEPARATORS, ids=ascii)
def test_only_a_space_ends_a_word(mark):
    assert pieces(f"a{mark}b c") == [f"a{mark}b", "c"]
    assert pieces(f"{mark} a") == [mark, "a"]


@pytest.mark.parametrize(
    ("text", "words"),
    [("", []), ("   ", []), (" a ", ["a"]), ("a   b", ["a", "b"]), ("a-b, c.", ["a-b,", "c."])],
)
def test_runs_of_spaces_count_as_one_and_edges_as_none(text, words):
    assert pieces(text) == words
    assert WordTokenizer().normalise(text) == " ".join(words)


def test_the_english_telugu_walk_through():
    for text, words in ((ENGLISH, 6), (TELUGU, 3)):
        tokenizer = WordTokenizer()
        tokenizer.fit([text])
        ids = tokenizer.encode(text).ids
        assert ids == list(range(4, 4 + words))
        assert len([BOS, *ids, EOS]) == words + 2
        assert tokenizer.decode(ids) == text
    assert WordTokenizer().encode("I am an unlucky man").ids == [1] * 5


@pytest.mark.parametrize("kind", [CharTokenizer, WordTokenizer])
def test_ids_follow_the_order_of_first_sight(kind):
    assert vocabulary(kind, ["b a", "c b", "a d"]) == [
        "b",
        *([" "] if kind is CharTokenizer else []),
        "a",
        "c",
        "d",
    ]


@pytest.mark.parametrize("kind", [CharTokenizer, WordTokenizer])
@pytest.mark.parametrize(
    ("texts", "options", "kept"),
    [
        (["b", "a", "b", "c", "a"], {"min_count": 2}, ["b", "a"]),
        (["b", "a", "b", "c", "a"], {"min_count": 3}, []),
        (["b", "a", "c", "a", "c"], {"max_size": 2}, ["a", "c"]),
        (["d", "b", "c", "a"], {"max_size": 2}, ["d", "b"]),
        (["d", "b", "c", "c", "b", "a"], {"max_size": 3}, ["d", "b", "c"]),
        (["d", "b", "c", "c", "b", "a"], {"max_size": 3, "min_count": 2}, ["b", "c"]),
        (["a"], {"max_size": 9}, ["a"]),
    ],
)
def test_the_rare_and_the_many_are_left_out_and_the_first_seen_wins_ties(kind, texts, options, kept):
    assert vocabulary(kind, texts, **options) == kept


@pytest.mark.parametrize("name", ["char", "word"])
@pytest.mark.parametrize("options", [{"min_count": 0}, {"max_size": 0}, {"min_count": -1, "max_size": 5}])
def test_sizes_that_leave_nothing_are_refused(name, options):
    with pytest.raises(ConfigError, match="expected at least 1"):
        Spec(Tokenizer, name, options).build()


def test_the_word_unk_is_a_word_and_reads_like_an_unknown_one():
    tokenizer = WordTokenizer()
    tokenizer.fit(["<unk> a"])
    assert tokenizer.encode("<unk> zzz").ids == [4, 1]
    assert tokenizer.decode([4, 1]) == "<unk> <unk>"


@pytest.mark.parametrize(
    ("options", "symbols"),
    [
        ({}, ["b", "a", "d", "c"]),
        ({"max_size": 3}, ["b", "a", "c"]),  # the most frequent of the new ones, as far as there is room
        ({"max_size": 2}, ["b", "a"]),
        ({"max_size": 1}, ["b"]),
        ({"min_count": 2}, ["c"]),
    ],
)
def test_an_extension_keeps_old_ids_and_the_limits_of_a_vocabulary(options, symbols):
    tokenizer = WordTokenizer(**options)
    tokenizer.fit(["b a"])
    tokenizer.extend(["a d c c"])
    assert tokenizer.state()["symbols"] == symbols
