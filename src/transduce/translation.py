"""What one translation can tell."""

import html
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transduce.trace import Trace

END = "</s>"


@dataclass
class Translation:
    """One output for one input text.

    `tokens` and `source_tokens` end with `</s>` where the model wrote or read EOS, so that they label
    `token_log_probs` and the rows and columns of `attention` [tokens, source tokens] one for one.
    `log_prob` is the sum of `token_log_probs` (natural log, EOS in): the model's own, whatever the search
    was told; `score` is what ranked it.
    `finished` is False where the maximum length cut it short. `n_best` holds all of them, best first.
    `trace` tells how it was decoded, where that was asked for.
    """

    source: str
    text: str
    score: float = 0.0
    log_prob: float = 0.0
    finished: bool = True
    tokens: list[str] = field(default_factory=list)
    token_log_probs: list[float] = field(default_factory=list)
    source_tokens: list[str] = field(default_factory=list)
    attention: np.ndarray | None = field(default=None, repr=False, compare=False)
    n_best: list["Translation"] = field(default_factory=list, repr=False)
    trace: Trace | None = field(default=None, repr=False, compare=False)

    def plain(self, *, attention: bool = True, trace: bool = True) -> dict[str, Any]:
        """The JSON object of `translate --json`; `attention` and `trace` where they are there and wanted."""
        keys = (
            "source",
            "text",
            "score",
            "log_prob",
            "finished",
            "tokens",
            "token_log_probs",
            "source_tokens",
        )
        tree = {key: getattr(self, key) for key in keys}
        if attention and self.attention is not None:
            tree["attention"] = [[round(weight, 6) for weight in row] for row in self.attention.tolist()]
        tree["n_best"] = [best.plain(attention=attention, trace=False) for best in self.n_best]
        if trace and self.trace is not None:
            tree["trace"] = self.trace.plain()
        return tree

    def _repr_html_(self) -> str:
        """A table whose cells are as dark as the attention they stand for."""
        title = f"<p>{html.escape(self.source)} → <b>{html.escape(self.text)}</b></p>"
        if self.attention is None:
            return title
        head = "".join(f'<th dir="auto">{html.escape(token)}</th>' for token in self.source_tokens)
        rows = "".join(
            f'<tr><th dir="auto">{html.escape(token)}</th>{"".join(map(_cell, weights))}</tr>'
            for token, weights in zip(self.tokens, self.attention.tolist(), strict=True)
        )
        return f"{title}<table><tr><th></th>{head}</tr>{rows}</table>"


def _cell(weight: float) -> str:
    return f'<td title="{weight:.3f}" style="background:rgba(31,89,171,{weight:.3f})">&nbsp;</td>'
