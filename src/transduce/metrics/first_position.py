"""How much of attention rests on the first source position."""

from typing import Any

import numpy as np
from jaxtyping import Float


class FirstPosition:
    """Sums over attention matrices; a row is an output token, that of the end of the sentence too.

    A row peaks at position 0 if its weight there is greater than everywhere else. Sources of one token
    are left out: attention has no choice there. A large share is worth a look, not a fault: the first
    target symbols of a monotonic task belong there.
    """

    def __init__(self) -> None:
        self.rows, self.peaks, self.weight, self.uniform = 0, 0, 0.0, 0.0

    def add(self, weights: Float[np.ndarray, "T S"]) -> None:
        rows, size = weights.shape
        if size < 2 or not rows:
            return
        self.rows += rows
        self.peaks += int((weights[:, 0] > weights[:, 1:].max(axis=1)).sum())
        self.weight += float(weights[:, 0].sum(dtype=float))
        self.uniform += rows / size

    def plain(self) -> dict[str, Any]:
        """Rows, the share that peaks at 0, the mean weight there, and that of uniform attention."""
        rows = max(1, self.rows)
        return {
            "rows": self.rows,
            "position_0_share": self.peaks / rows,
            "position_0_weight": self.weight / rows,
            "uniform_weight": self.uniform / rows,
        }
