"""What a notebook shows of a translation."""

from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.translation import Translation

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), max_size=8)


class Page(HTMLParser):
    """The tags and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[dict[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append(dict(attrs))

    def handle_data(self, data):
        self.texts.append(data)


def result(source: str, text: str, tokens: list[str], source_tokens: list[str]) -> Translation:
    weights = np.random.default_rng(0).dirichlet(np.ones(len(source_tokens)), size=len(tokens))
    return Translation(source, text, tokens=tokens, source_tokens=source_tokens, attention=weights)


@pytest.mark.parametrize("evil", ["<script>alert(1)</script>", "</th><img src=x>", "a & b", '"><b>', "&lt;"])
def test_text_stays_text(evil):
    page = Page(result(evil, evil, [evil, "</s>"], [evil, "</s>"])._repr_html_())
    assert set(page.tags) == {"p", "b", "table", "tr", "th", "td"}
    shown = "".join(page.texts)
    assert shown.count(evil) == 4
    assert shown.count("</s>") == 2


@given(source=texts, text=texts, token=texts)
def test_any_text_is_shown_as_it_is(source, text, token):
    page = Page(result(source, text, [token], [token, "x"])._repr_html_())
    shown = "".join(page.texts)
    assert shown.startswith(f"{source} → {text}{token}x")
    assert set(page.tags) == {"p", "b", "table", "tr", "th", "td"}


def test_cells_are_as_dark_as_their_weights():
    shown = result("s", "t", ["x", "</s>"], ["a", "b", "</s>"])
    page = Page(shown._repr_html_())
    cells = [attributes for tag, attributes in zip(page.tags, page.attributes, strict=True) if tag == "td"]
    assert [float(cell["title"]) for cell in cells] == pytest.approx(
        shown.attention.flatten().tolist(), abs=5e-4
    )
    for cell in cells:
        assert f",{cell['title']})" in cell["style"]
    assert page.tags.count("tr") == 3
    assert page.tags.count("th") == 1 + 3 + 2


def test_without_attention_there_is_no_table():
    assert Translation("a", "<b>")._repr_html_() == "<p>a → <b>&lt;b&gt;</b></p>"


def test_equal_translations_are_equal_with_their_attention():
    one, other = (result("s", "t", ["x", "y"], ["a", "b"]) for _ in range(2))
    assert one == other
    assert one != result("s", "u", ["x", "y"], ["a", "b"])
    assert "attention" not in repr(one)
