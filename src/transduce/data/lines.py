"""Lines of text, from a file or from standard input: the one place where bytes become text.

Only LF (or CR LF) ends a line; bytes that are not UTF-8 text are an error with `file:line`.
"""

import gzip
import stat
import sys
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from transduce.errors import DataError

BOM = "\ufeff"
STDIN = "<stdin>"  # stands for standard input wherever a path may stand
EMPTY_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")  # fillers, Braille without dots
SEEN_FORMATS = frozenset(  # of category Cf, but drawn around what follows them
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)


def is_blank(text: str) -> bool:
    """True for text that shows nothing: white space of any script, zero-width characters, fillers."""
    rest = text.strip()
    return not rest or (not rest[0].isascii() and all(map(_shows_nothing, rest)))


def _shows_nothing(character: str) -> bool:
    if character.isspace() or character in EMPTY_LETTERS:
        return True
    return unicodedata.category(character) == "Cf" and character not in SEEN_FORMATS


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
            if isinstance(file, gzip.GzipFile) and file.mtime is None:  # no header was read
                raise EOFError("it has no bytes at all")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: expected a whole gzip file; {error}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read; {error.strerror or error}") from None


def read_once(path: str) -> str | None:
    """What a path leads to that gives its lines only once; None for a file, a folder, and nothing at all."""
    if path == STDIN:
        return "standard input"
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    return f"{path}, a {'pipe' if stat.S_ISFIFO(mode) else 'device'}"


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
            raise _not_utf8(f"{where}:{number}", raw, error) from None
        if "\0" in text:
            raise _not_text(where, number, body.index(0))
        if number == 1 and b"\r" in body and not raw.endswith(b"\n"):
            hint = "convert it with: tr '\\r' '\\n'"
            raise DataError(f"{where}: expected lines ended by LF; got CR alone; {hint}")
        yield text.removeprefix(BOM)


def _not_utf8(where: str, line: bytes, error: UnicodeDecodeError) -> DataError:
    encoding = "UTF-16" if line.startswith((b"\xff\xfe", b"\xfe\xff")) else "LATIN1"
    hint = f"convert it with: iconv -f {encoding} -t UTF-8"
    if error.reason == "unexpected end of data" and error.end == len(line):
        hint = "the file ends within a character: it was cut off, or is no UTF-8"
    place = f"byte 0x{line[error.start]:02x} at byte offset {error.start} of the line"
    return DataError(f"{where}: expected UTF-8; got {place}; {hint}")


def _not_text(where: str, number: int, start: int) -> DataError:
    """Every line end of UTF-16 holds a NUL, before LF (big end first) or after it."""
    encoding = "UTF-16LE" if start % 2 or (start == 0 and number > 1) else "UTF-16BE"
    return DataError(
        f"{where}:{number}: expected text; got a NUL byte at byte offset {start} of the line; "
        f"if it is UTF-16, convert it with: iconv -f {encoding} -t UTF-8"
    )
