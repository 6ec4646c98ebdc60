"""Characters: what a reader sees as one letter is one token."""

import pytest

from transduce.tokenizers.char import CharTokenizer


def pieces(text: str, **options) -> list[str]:
    return [text[start:end] for start, end in CharTokenizer(**options).encode(text).offsets]


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("abc", ["a", "b", "c"]),
        ("a  b", ["a", " ", " ", "b"]),
        ("కి", ["కి"]),
        ("నేను చాలా", ["నే", "ను", " ", "చా", "లా"]),
        ("हिन्दी", ["हि", "न्दी"]),
        ("क्षि", ["क्षि"]),
        ("e\u0301a", ["e\u0301", "a"]),
        ("é", ["é"]),
        ("👨‍👩‍👧!", ["👨‍👩‍👧", "!"]),
        ("👍🏽", ["👍🏽"]),
        ("🇮🇳🇫🇷", ["🇮🇳", "🇫🇷"]),
        ("각", ["각"]),
        ("\u0301a", ["\u0301", "a"]),
        ("a\u00a0b", ["a", "\u00a0", "b"]),
        ("a\r\nb", ["a", "\r\n", "b"]),
        ("a\rb", ["a", "\r", "b"]),
        ("a\tb\x00", ["a", "\t", "b", "\x00"]),
        ("", []),
    ],
)
def test_grapheme_clusters(text, letters):
    assert pieces(text) == letters
    assert pieces(text, unit="code_point") == list(text)


def test_every_text_survives_as_it_is():
    tokenizer = CharTokenizer()
    assert tokenizer.normalise("  a  ") == "  a  "
    tokenizer.fit(["  a  "])
    assert tokenizer.decode(tokenizer.encode("  a  ").ids) == "  a  "


def test_ids_follow_the_order_of_first_sight():
    tokenizer = CharTokenizer()
    tokenizer.fit(["ba", "నేb", "a "])
    assert tokenizer.symbols == ["b", "a", "నే", " "]
    assert tokenizer.encode("aనేz").ids == [5, 6, 1]
    assert tokenizer.vocab_size == 8
    assert tokenizer.decode([5, 6, 1]) == "aనే<unk>"


def test_an_unseen_cluster_of_seen_parts_is_unknown():
    tokenizer = CharTokenizer()
    tokenizer.fit(["కే", "ని"])
    assert tokenizer.encode("కి").ids == [1]
    tokenizer = CharTokenizer(unit="code_point")
    tokenizer.fit(["కే", "ని"])
    assert 1 not in tokenizer.encode("కి").ids
