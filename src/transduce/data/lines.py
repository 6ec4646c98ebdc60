"""Lines of text, from a file or from standard input: the one place where bytes become text.

Only LF (or CR LF) ends a line; bytes that are not UTF-8 text are an error with `file:line`.
"""

import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from transduce.errors import DataError

BOM = "\ufeff"
STDIN = "<stdin>"  # stands for standard input wherever a path may stand


def is_blank(text: str) -> bool:
    """True for text of nothing but white space, of any script."""
    return not text.strip()


def read_lines(path: str | Path) -> Iterator[str]:
    """Yields lines without their ends and without a byte order mark at their start.

    A path that ends in `.gz` is unpacked, and `STDIN` reads standard input, which can be read only once.
    Raises DataError for what cannot be read, and for bytes that are not UTF-8.
    """
    try:
        if str(path) == STDIN:
            yield from _stdin()
            return
        path = Path(path)
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            yield from decode_lines(file, str(path))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: expected a whole gzip file; {error}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read; {error.strerror or error}") from None


def _stdin() -> Iterator[str]:
    """Reads by a buffer of its own: a program cannot end in peace while a thread holds Python's."""
    if sys.stdin is None:
        raise DataError(f"{STDIN}: expected text; got a closed input")
    with open(sys.stdin.fileno(), "rb", closefd=False) as file:
        yield from decode_lines(file, STDIN)


def decode_lines(chunks: Iterable[bytes], where: str) -> Iterator[str]:
    """Decodes LF-ended byte lines; `where` names the file in errors."""
    for number, raw in enumerate(chunks, 1):
        body = raw.removesuffix(b"\n").removesuffix(b"\r")
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _not_utf8(f"{where}:{number}", body, error.start) from None
        if "\0" in text:
            raise _not_text(where, number, body.index(0))
        if number == 1 and b"\r" in body and not raw.endswith(b"\n"):
            hint = "convert it with: tr '\\r' '\\n'"
            raise DataError(f"{where}: expected lines ended by LF; got CR alone; {hint}")
        yield text.removeprefix(BOM)


def _not_utf8(where: str, body: bytes, start: int) -> DataError:
    encoding = "UTF-16" if body.startswith((b"\xff\xfe", b"\xfe\xff")) else "LATIN1"
    return DataError(
        f"{where}: expected UTF-8; got byte 0x{body[start]:02x} at byte offset {start} of the line; "
        f"convert it with: iconv -f {encoding} -t UTF-8"
    )


def _not_text(where: str, number: int, start: int) -> DataError:
    """Every line end of UTF-16 holds a NUL, before LF (big end first) or after it."""
    encoding = "UTF-16LE" if start % 2 or (start == 0 and number > 1) else "UTF-16BE"
    return DataError(
        f"{where}:{number}: expected text; got a NUL byte at byte offset {start} of the line; "
        f"if it is UTF-16, convert it with: iconv -f {encoding} -t UTF-8"
    )
