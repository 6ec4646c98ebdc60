"""The laws every tokenizer keeps, run over the registry."""

import json
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unsafe import traps
from transduce.config import Spec
from transduce.errors import CheckpointError, ConfigError
from transduce.tokenizers import Tokenizer, load_tokenizer
from transduce.tokenizers.cuttings import UnigramSampling
from transduce.types import SPECIALS, UNK

TEXTS = [
    "I am a very lucky man",
    "నేను చాలా అదృష్టవంతుడిని",
    "  two  spaces ",
    "no\u00a0break\u200djoin\u3000wide",
    "👨‍👩‍👧 e\u0301 é क्षि",
    "<pad> <unk> <s> </s> pad token",
]
lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=30)
scripts = st.text("ab  \u00a0నేిుా్షక్\u200d\u0301é👨🏽\r\t", max_size=20)

DRAWING = {"bpe": {"dropout": 0.4}, "unigram": {"sample": UnigramSampling(alpha=0.2)}}

pytestmark = pytest.mark.parametrize("name", list(Tokenizer.family))


def fitted(name: str, texts: list[str], **options) -> Tokenizer:
    tokenizer = Spec(Tokenizer, name, options).build()
    tokenizer.fit(texts)
    return tokenizer


@given(text=lines | scripts)
def test_decode_of_encode_is_the_normal_form(name, text):
    tokenizer = fitted(name, [text])
    assert tokenizer.decode(tokenizer.encode(text).ids) == tokenizer.normalise(text)


@given(text=lines | scripts)
def test_the_normal_form_is_final(name, text):
    tokenizer = fitted(name, [text])
    normal = tokenizer.normalise(text)
    assert tokenizer.normalise(normal) == normal
    assert tokenizer.encode(normal).ids == tokenizer.encode(text).ids


@given(text=lines | scripts)
def test_offsets_cut_the_text_in_order(name, text):
    tokenizer = fitted(name, [text])
    ids, offsets = tokenizer.encode(text)
    assert len(ids) == len(offsets)
    assert [place for span in offsets for place in span] == sorted(
        place for span in offsets for place in span
    )
    assert all(start < end for start, end in offsets)
    pieces = [text[start:end] for start, end in offsets]
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    assert [tokenizer.token(index) for index in ids] == pieces


@given(seen=st.lists(lines | scripts, max_size=3), text=lines | scripts)
def test_specials_are_never_produced_and_unseen_is_unknown(name, seen, text):
    tokenizer = fitted(name, seen)
    assert all(index >= SPECIALS for known in seen for index in tokenizer.encode(known).ids)
    ids = tokenizer.encode(text).ids
    assert all(index == UNK or SPECIALS <= index < tokenizer.vocab_size for index in ids)


@given(seen=st.lists(lines | scripts, max_size=3), text=lines | scripts, seed=st.integers(0, 99))
def test_what_is_sampled_is_the_same_text_drawn_from_the_random_numbers_given(name, seen, text, seed):
    tokenizer = fitted(name, [*seen, text], **DRAWING.get(name, {}))
    ids = tokenizer.sample(text, Random(seed))
    assert all(SPECIALS <= index < tokenizer.vocab_size for index in ids)
    assert tokenizer.decode(ids) == tokenizer.normalise(text)
    assert tokenizer.sample(tokenizer.normalise(text), Random(seed)) == ids
    assert (tokenizer.sampler is None) == (name not in DRAWING)


def test_options_for_training_alone_change_no_id_that_encode_gives(name):
    drawing, plain = fitted(name, TEXTS, **DRAWING.get(name, {})), fitted(name, TEXTS)
    assert set(drawing.training_only) == set(DRAWING.get(name, {}))
    assert drawing.state() == plain.state()
    for text in TEXTS:
        drawing.sample(text, Random(1))
        assert drawing.encode(text) == plain.encode(text)


@given(old=st.lists(lines | scripts, max_size=3), new=st.lists(lines | scripts, max_size=3))
def test_an_extension_gives_new_ids_after_the_old_ones_or_is_refused(name, old, new):
    tokenizer = fitted(name, old)
    before = tokenizer.state()["symbols"]
    if not tokenizer.extensible:
        with pytest.raises(ConfigError, match=f"tokenizer '{name}': its pieces .* cannot be extended"):
            tokenizer.extend(new)
        return
    tokenizer.extend(new)
    assert tokenizer.state()["symbols"][: len(before)] == before
    assert tokenizer.state() == fitted(name, [*old, *new]).state()
    assert all(UNK not in tokenizer.encode(text).ids for text in (*old, *new))


@pytest.mark.parametrize("text", TEXTS)
def test_text_that_looks_like_a_special_is_text(name, text):
    tokenizer = fitted(name, TEXTS)
    assert min(tokenizer.encode(text).ids) >= SPECIALS
    assert tokenizer.decode(tokenizer.encode(text).ids) == tokenizer.normalise(text)


def test_nothing_seen_leaves_the_specials(name):
    tokenizer = fitted(name, [])
    assert tokenizer.vocab_size == SPECIALS
    assert set(tokenizer.encode("any text").ids) == {UNK}
    assert tokenizer.encode("").ids == []
    assert tokenizer.decode([]) == ""
    assert all(isinstance(tokenizer.token(index), str) for index in range(SPECIALS))


def test_fitting_again_gives_the_same_ids(name):
    first, second = fitted(name, TEXTS), fitted(name, TEXTS)
    assert first.state() == second.state()
    assert first.vocab_size == second.vocab_size
    first.fit(["b", "a"])
    assert first.state() == fitted(name, ["b", "a"]).state()


@given(texts=st.lists(lines | scripts, max_size=4), other=lines)
def test_loading_gives_back_what_was_saved(name, texts, other):
    tokenizer, spec = fitted(name, texts), Spec(Tokenizer, name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        tokenizer.save(path, spec)
        loaded = load_tokenizer(path)
        first = path.read_bytes()
        loaded.save(path, spec)
        assert path.read_bytes() == first
    assert type(loaded) is type(tokenizer)
    assert loaded.state() == tokenizer.state()
    for text in (*texts, other):
        assert loaded.encode(text) == tokenizer.encode(text)
        assert loaded.decode(loaded.encode(text).ids) == tokenizer.decode(tokenizer.encode(text).ids)


def saved(name: str, folder: Path, **changes) -> Path:
    path = folder / "tokenizer.json"
    fitted(name, TEXTS).save(path, Spec(Tokenizer, name))
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}))
    return path


def refuses(path: Path) -> None:
    with pytest.raises(CheckpointError) as caught:
        load_tokenizer(path)
    assert str(caught.value).startswith(f"{path}: expected a tokenizer file of format 1; ")


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 2},
        {"tokenizer": {"name": "no such"}},
        {"tokenizer": {}},
        {"tokenizer": "char"},
        {"tokenizer": None},
        {"state": None},
        {"state": {}},
        {"state": {"symbols": 5}},
        {"state": {"symbols": [1, 2]}},
        {"state": {"symbols": ["a", "a"]}},
        {"state": {"symbols": [["a"]]}},
    ],
    ids=str,
)
def test_a_file_that_holds_something_else_is_refused(name, tmp_path, changes):
    load_tokenizer(saved(name, tmp_path))
    refuses(saved(name, tmp_path, **changes))


def test_unknown_options_in_a_file_are_refused(name, tmp_path):
    refuses(saved(name, tmp_path, tokenizer={"name": name, "min_count": 0}))
    refuses(saved(name, tmp_path, tokenizer={"name": name, "colour": 1}))


def test_every_truncated_file_is_refused(name, tmp_path):
    whole = saved(name, tmp_path).read_bytes().rstrip()
    for length in range(0, len(whole), 7):
        (tmp_path / "tokenizer.json").write_bytes(whole[:length])
        refuses(tmp_path / "tokenizer.json")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\x00" * 9, b"[]", b"5", b"null", b"{}"])
def test_a_damaged_or_missing_file_is_refused(name, tmp_path, content):
    path = saved(name, tmp_path)
    path.write_bytes(content)
    refuses(path)
    path.unlink()
    refuses(path)


@pytest.mark.parametrize("kind", ["pickle", "torch", "text pickle"])
def test_CKP_11_a_tokenizer_file_runs_no_code(name, tmp_path, kind):
    path = saved(name, tmp_path)
    path.write_bytes(traps(tmp_path / "marker")[kind])
    refuses(path)
    assert not (tmp_path / "marker").exists()
