"""An attention map as a picture."""

from html import escape

import numpy as np

from transduce.tokenizers.char import CLUSTER
from transduce.translation import Translation
from transduce.viewer.terminal import visible

CELL = 26  # pixels
LETTER = 10  # pixels, about the width of one
STYLE = """
text { font: 15px system-ui, sans-serif; fill: #1b2430 } .end { fill: #8b97a5; font-size: 12px }
.paper { fill: #ffffff } .cell { fill: #1f59ab } .grid { fill: none; stroke: #e3e8ee }
@media (prefers-color-scheme: dark) {
 text { fill: #e8edf3 } .paper { fill: #12181f } .cell { fill: #6cb2ff } .grid { stroke: #2a3440 }
}"""


def heatmap_svg(translation: Translation) -> str:
    """Rows are target tokens, columns source tokens; each cell is as opaque as its weight.

    Weights stand in tooltips; colours follow the reader's light or dark setting. Raises ValueError
    without attention.
    """
    if translation.attention is None:
        raise ValueError("heatmap_svg: expected a translation with attention; translate with attention=True")
    columns = [visible(token) for token in translation.source_tokens]
    rows = [visible(token) for token in translation.tokens]
    left = LETTER * max(map(letters, rows), default=0) + 12
    top = max(CELL, LETTER * max(map(letters, columns), default=0) + 8)
    width, height = left + CELL * len(columns) + 8, top + CELL * len(rows) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="attention map">',
        f'<style>{STYLE}</style><rect class="paper" width="100%" height="100%"/>',
        *(_column(token, left + CELL * (i + 0.5), top) for i, token in enumerate(columns)),
        *(_row(token, left, top + CELL * (i + 0.5)) for i, token in enumerate(rows)),
        *_cells(translation.attention, rows, columns, left, top),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _column(token: str, x: float, top: int) -> str:
    turn = f' transform="rotate(-90 {x} {top - 8})"' if letters(token) > 2 else ""
    anchor, shift = ("start", 5) if turn else ("middle", 0)
    kind = ' class="end"' if token == "</s>" else ""  # noqa: S105 (a token of text)
    return f'<text{kind} x="{x}" y="{top - 8 + shift}" text-anchor="{anchor}"{turn}>{escape(token)}</text>'


def _row(token: str, left: int, y: float) -> str:
    kind = ' class="end"' if token == "</s>" else ""  # noqa: S105 (a token of text)
    return f'<text{kind} x="{left - 8}" y="{y + 5}" text-anchor="end">{escape(token)}</text>'


def _cells(weights: np.ndarray, rows: list[str], columns: list[str], left: int, top: int) -> list[str]:
    cells = []
    for i, row in enumerate(weights.tolist()):
        for j, weight in enumerate(row):
            place = f'x="{left + CELL * j}" y="{top + CELL * i}" width="{CELL}" height="{CELL}"'
            label = escape(f"{rows[i]} ← {columns[j]}: {weight:.3f}")
            cells.append(
                f'<rect class="cell" {place} fill-opacity="{weight:.3f}"><title>{label}</title></rect>'
            )
            cells.append(f'<rect class="grid" {place}/>')
    return cells


def letters(token: str) -> int:
    """How many letters a reader sees: marks belong to the letter that bears them."""
    return len(CLUSTER.findall(token))
