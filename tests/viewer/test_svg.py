"""Attention as a picture: well-formed, labelled, and true to the weights."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.translation import Translation
from transduce.viewer.svg import CELL, heatmap_svg
from transduce.viewer.terminal import visible

SVG = "{http://www.w3.org/2000/svg}"
tokens = st.lists(st.text(max_size=4), min_size=1, max_size=4)


def picture(rows: list[str], columns: list[str], weights: np.ndarray) -> ET.Element:
    result = Translation("s", "t", tokens=rows, source_tokens=columns, attention=weights)
    return ET.fromstring(heatmap_svg(result))


def weights(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(columns), size=rows).astype(np.float32)


@given(tokens, tokens)
def test_any_tokens_give_well_formed_labels(rows, columns):
    svg = picture(rows, columns, weights(len(rows), len(columns)))
    labels = [text.text or "" for text in svg.iter(f"{SVG}text")]
    assert labels == [*map(visible, columns), *map(visible, rows)]


def test_each_cell_has_its_weight_place_and_tooltip():
    rows, columns = ["<b>&", "</s>"], ["కి", "a\"'", "</s>"]
    seen = weights(2, 3)
    svg = picture(rows, columns, seen)
    cells = svg.findall(f"{SVG}rect[@class='cell']")
    assert len(cells) == 6
    for place, cell in enumerate(cells):
        i, j = divmod(place, 3)
        assert float(cell.attrib["fill-opacity"]) == pytest.approx(seen[i, j], abs=5e-4)
        assert cell.find(f"{SVG}title").text == f"{rows[i]} ← {columns[j]}: {seen[i, j]:.3f}"
        assert float(cell.attrib["x"]) == float(cells[j].attrib["x"])
        assert float(cell.attrib["y"]) == float(cells[3 * i].attrib["y"])
    xs = [float(cell.attrib["x"]) for cell in cells[:3]]
    assert np.diff(xs).tolist() == [CELL, CELL]
    width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
    assert xs[-1] + CELL <= width
    assert float(cells[-1].attrib["y"]) + CELL <= height
    assert svg.attrib["viewBox"] == f"0 0 {svg.attrib['width']} {svg.attrib['height']}"
    assert svg.attrib["role"] == "img"


def test_labels_line_up_with_rows_and_columns():
    svg = picture(["x", "y"], ["a", "long one"], weights(2, 2))
    a, long, x, y = svg.iter(f"{SVG}text")
    cells = svg.findall(f"{SVG}rect[@class='cell']")
    assert float(a.attrib["x"]) == float(cells[0].attrib["x"]) + CELL / 2
    assert float(long.attrib["x"]) == float(cells[1].attrib["x"]) + CELL / 2
    assert "rotate(-90" in long.attrib["transform"]
    for label, cell in ((x, cells[0]), (y, cells[2])):
        assert 0 < float(label.attrib["y"]) - float(cell.attrib["y"]) < CELL
        assert float(label.attrib["x"]) < float(cell.attrib["x"])


def test_the_picture_reaches_for_nothing_outside_itself():
    result = Translation("s", "t", tokens=["x"], source_tokens=["a"], attention=weights(1, 1))
    text = heatmap_svg(result).replace("http://www.w3.org/2000/svg", "")
    assert "http" not in text
    assert "href" not in text
    assert "<script" not in text


def test_nothing_to_show_is_an_empty_picture_and_no_attention_an_error():
    assert picture([], [], np.zeros((0, 0))).findall(f"{SVG}text") == []
    with pytest.raises(ValueError, match="translate with attention=True"):
        heatmap_svg(Translation("a", "b"))
