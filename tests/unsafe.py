"""Files that would run code if anything here unpickled them."""

import io
import os
import pickle
from pathlib import Path
from typing import Any

import torch


class Trap:
    """Makes a folder where it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


def traps(marker: Path) -> dict[str, bytes]:
    """The kinds of such files, and their content."""
    buffer = io.BytesIO()
    torch.save({"weight": Trap(marker)}, buffer)
    return {
        "pickle": pickle.dumps(Trap(marker)),
        "torch": buffer.getvalue(),
        "text pickle": pickle.dumps(Trap(marker), protocol=0),
    }


def springs(content: bytes, marker: Path) -> bool:
    """Whether unpickling this does what a trap does."""
    try:
        pickle.loads(content)
    except pickle.UnpicklingError:
        torch.load(io.BytesIO(content), weights_only=False)
    found = marker.is_dir()
    marker.rmdir()
    return found
