"""Files written so that an interruption at any instant leaves the old or the new one, whole."""

import contextlib
import os
from pathlib import Path

TEMPORARY = ".writing-"


def write_file(path: Path, content: bytes) -> None:
    """Replaces `path` by `content` in one step."""
    temporary = path.with_name(TEMPORARY + path.name)
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):  # what is half written would keep a full disk full
            temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Makes renames in a folder last through a crash of the machine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
