"""What a file's bytes tell before they are text."""

import gzip
from collections.abc import Iterator
from pathlib import Path

from transduce.data.doctor.base import Finding, many
from transduce.data.tally import Tally

BOM = b"\xef\xbb\xbf"


def line_ends(path: str) -> Iterator[Finding]:
    """Line ends by CR LF, and byte order marks: all notes, for every reader here takes them off."""
    total, crlf, marks = 0, Tally(), Tally()
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        for number, line in enumerate(file, 1):
            total = number
            if line.endswith(b"\r\n"):
                crlf.add([number])
            if line.startswith(BOM) or b"\t" + BOM in line:
                marks.add([number])
    if crlf.count:
        some = "" if crlf.count == total else f" in {many(crlf.count, 'line')} of {total:,}"
        text = f"{Path(path).name}: CR LF{some}; it is taken off where pairs are read"
        yield Finding("line_ends", "note", text, crlf.count, crlf.lines if some else [])
    if marks.count:
        text = (
            f"{Path(path).name}: at the start of text in {many(marks.count, 'line')}; "
            "taken off where pairs are read"
        )
        yield Finding("byte_order_mark", "note", text, marks.count, marks.lines)
