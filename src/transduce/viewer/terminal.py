"""An attention map in a terminal."""

import re
from collections.abc import Sequence

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

from transduce.translation import Translation

NOT_TEXT = re.compile("[\x7f-\x9f\ud800-\udfff\ufffe\uffff]")  # obeyed by terminals, or refused by XML
SHADES = " ·░▒▓█"
WIDEST = 8  # cells of a column


def heatmap(translation: Translation) -> Text:
    """Rows are target tokens, columns source tokens; the darker a cell, the more the row looked there.

    Each cell is a shade, so the map reads without colour too. Raises ValueError without attention.
    """
    if translation.attention is None:
        raise ValueError("heatmap: expected a translation with attention; translate with attention=True")
    columns = [visible(token) for token in translation.source_tokens]
    rows = [visible(token) for token in translation.tokens]
    width = min(WIDEST, max(map(cell_len, columns), default=1)) + 1
    margin = max(map(cell_len, rows), default=0) + 1
    head = " ".join(set_cell_size(column, width - 1) for column in columns)
    text = Text(" " * margin + head.rstrip())
    for token, weights in zip(rows, translation.attention, strict=True):
        text.append("\n" + " " * (margin - 1 - cell_len(token)) + token + " ")
        text.append_text(shaded(weights, width))
    return text


def shaded(weights: Sequence[float] | np.ndarray, width: int) -> Text:
    """One row of cells, each filled with the shade of its weight."""
    row = Text()
    for weight in np.clip(weights, 0.0, 1.0):
        shade = SHADES[min(int(weight * len(SHADES)), len(SHADES) - 1)]
        row.append(shade * (width - 1) + " ", Style(color="bright_blue" if weight >= 0.5 else "blue"))
    row.rstrip()
    return row


def visible(token: str) -> str:
    """A token that a cell can show: spaces as ␣, control characters as their pictures."""
    shown = ("␣" if c == " " else chr(0x2400 + ord(c)) if ord(c) < 32 else c for c in token)
    return NOT_TEXT.sub("�", "".join(shown))
