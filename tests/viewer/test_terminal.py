"""Attention in a terminal: every weight in its place, whatever the script."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, chop_cells
from rich.console import Console

from transduce.translation import Translation
from transduce.viewer.terminal import SHADES, heatmap, shaded, visible

TELUGU = ["నే", "ను", " ", "అదృష్టవంతుడిని", "</s>"]


def translation(tokens: list[str], source_tokens: list[str], weights=None) -> Translation:
    if weights is None:
        weights = np.eye(len(tokens), len(source_tokens))
    attention = np.array(weights, dtype=np.float32)
    return Translation("s", "t", tokens=tokens, source_tokens=source_tokens, attention=attention)


def columns(line: str) -> list[str]:
    """A line by terminal cells: a wide character fills its first, and leaves the others empty."""
    cells = []
    for cluster in chop_cells(line, 1) if line else []:
        cells += [cluster, *([""] * (cell_len(cluster) - 1))]
    return cells


def test_a_map_reads_as_text():
    weights = [[0.9, 0.1, 0.0], [0.0, 0.4, 0.6], [0.2, 0.2, 0.6]]
    found = heatmap(translation(["x", "yy", "</s>"], ["a", "b", "</s>"], weights))
    assert found.plain.split("\n") == [
        "     a    b    </s>",
        "   x ████",
        "  yy      ░░░░ ▒▒▒▒",
        "</s> ···· ···· ▒▒▒▒",
    ]


@pytest.mark.parametrize(
    "tokens", [TELUGU, ["a", "</s>"], ["日本", "語", "</s>"], ["👨‍👩‍👧", "क्षि"], ["long-long-long-word", "b"]]
)
@pytest.mark.parametrize(
    "source_tokens", [TELUGU, ["a", "b"], ["日本", "x"], ["internationalisation", "implementation", "b"]]
)
def test_cells_stand_under_their_columns(tokens, source_tokens):
    weights = np.ones((len(tokens), len(source_tokens)))
    head, *rows = heatmap(translation(tokens, source_tokens, weights)).plain.split("\n")
    margin = max(map(cell_len, map(visible, tokens))) + 1
    width = min(8, max(map(cell_len, map(visible, source_tokens)))) + 1
    assert len(rows) == len(tokens)
    for token, row in zip(tokens, rows, strict=True):
        label, cells = row[: -len(source_tokens) * width + 1], row[-len(source_tokens) * width + 1 :]
        assert cells == " ".join(["█" * (width - 1)] * len(source_tokens))
        assert cell_len(label) == margin
        assert label.strip() == visible(token)
    labels = "".join(visible(token) for token in source_tokens)
    assert cell_len(head) <= margin + width * len(source_tokens) - 1
    assert head.startswith(" " * margin + labels[0])
    for number, token in enumerate(source_tokens):
        start = margin + number * width
        assert visible(token).startswith(cells_from(head, start)[:1])


def cells_from(line: str, start: int) -> str:
    """What stands in a line from this cell on."""
    place = next(place for place in range(len(line) + 1) if cell_len(line[:place]) == start)
    while place < len(line) and cell_len(line[place]) == 0:
        place += 1
    return line[place:]


def test_long_labels_are_cut_and_kept_apart():
    head = heatmap(translation(["x"], ["internationalisation", "implementation"], [[0, 1]])).plain.split(
        "\n"
    )[0]
    assert head == "  internat implemen"


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_greater_weight_is_no_lighter(one, other):
    shades = [SHADES.index((shaded([weight], 2).plain or " ")[0]) for weight in sorted((one, other))]
    assert shades == sorted(shades)


@pytest.mark.parametrize(
    ("weight", "shade"), [(0.0, ""), (0.2, "·"), (0.5, "▒"), (1.0, "█"), (1.5, "█"), (-1.0, "")]
)
def test_shades_go_from_nothing_to_full(weight, shade):
    assert shaded(np.array([weight]), 2).plain == shade


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (" ", "␣"),
        ("a b", "a␣b"),
        ("\t", "␉"),
        ("\n", "␊"),
        ("\x1b[31m", "␛[31m"),
        ("\x00", "␀"),
        ("\x9b31m", "�31m"),
        ("\x7f", "�"),
        ("\u200d", "\u200d"),
        ("కి", "కి"),
        ("\uffff", "�"),
    ],
)
def test_every_token_can_be_seen_and_none_is_obeyed(token, shown):
    assert visible(token) == shown


def test_without_a_terminal_there_are_no_escapes():
    file = io.StringIO()
    Console(file=file).print(heatmap(translation(TELUGU, TELUGU)))
    assert "\x1b" not in file.getvalue()
    assert "█" in file.getvalue()
    Console(file=file, force_terminal=True, color_system="standard").print(
        heatmap(translation(TELUGU, TELUGU))
    )
    assert "\x1b" in file.getvalue()


def test_nothing_to_show_is_an_empty_map_and_no_attention_an_error():
    assert heatmap(Translation("", "", attention=np.zeros((0, 0)))).plain.strip() == ""
    with pytest.raises(ValueError, match="translate with attention=True"):
        heatmap(Translation("a", "b"))
