"""A cleaned copy of a file of pairs: only what is safe, and all of it counted."""

import gzip
import json
import re
import unicodedata
from pathlib import Path
from types import TracebackType
from typing import Literal

from transduce.data.doctor.window import Window
from transduce.data.lines import BOM, STDIN
from transduce.data.pairs import format_of
from transduce.errors import ConfigError, DataError
from transduce.files import TEMPORARY

Form = Literal["nfc", "nfd"]
FORMS: dict[Form, Literal["NFC", "NFD"]] = {"nfc": "NFC", "nfd": "NFD"}


class Cleaner:
    """Writes pairs as they pass, without blank sides and duplicates, in one normal form if asked for.

    Line ends become LF, byte order marks at the start of texts go, and so does CR, of which a space is left
    within a text. Everything else stays: invisible characters and spaces may be meant. The copy appears
    when the context ends without an error. Raises ConfigError where `path` exists, and DataError for what
    its format cannot hold.
    """

    def __init__(self, path: str, form: Form | None) -> None:
        if path == STDIN or Path(path).exists():
            raise ConfigError(f"--fix {path}: expected the name of a new file; this one is there already")
        self.path = Path(path)
        self.form: Form | None = form
        self.temporary = self.path.with_name(TEMPORARY + self.path.name)
        self.write = {"jsonl": json_line}.get(format_of(path), tsv_line)
        self.seen: set[int] = set()
        self.counts = {"pairs": 0, "blank_sides": 0, "duplicates": 0, "normalised": 0}

    def __enter__(self) -> "Cleaner":
        try:
            self.file = (gzip.open if self.path.suffix == ".gz" else open)(self.temporary, "wb")
        except OSError as error:
            raise DataError(f"{self.path}: cannot be written; {error.strerror}") from None
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.file.close()
        if error is None:
            self.temporary.rename(self.path)
        else:
            self.temporary.unlink()

    def look(self, window: Window) -> None:
        self.counts["blank_sides"] += len(window.blank)
        for line, *given in zip(window.lines, window.source.texts, window.target.texts, strict=True):
            pair = [unmarked(text) for text in given]
            source, target = map(self._normal, pair)
            self.counts["normalised"] += [source, target] != pair
            key = hash((source, target))
            if key in self.seen:
                self.counts["duplicates"] += 1
                continue
            self.seen.add(key)
            self.counts["pairs"] += 1
            self.file.write(f"{self.write(source, target, line)}\n".encode())

    def _normal(self, text: str) -> str:
        return text if self.form is None else unicodedata.normalize(FORMS[self.form], text)


def unmarked(text: str) -> str:
    """The text without byte order marks at its start, and without CR."""
    text = text.lstrip(BOM)
    return re.sub("\r+", " ", text.strip("\r")) if "\r" in text else text


def json_line(source: str, target: str, line: int) -> str:
    return json.dumps({"source": source, "target": target}, ensure_ascii=False)


def tsv_line(source: str, target: str, line: int) -> str:
    if "\t" in source or "\t" in target:
        hint = "a TSV file cannot hold it: name the copy .jsonl"
        raise DataError(f"--fix: line {line}: expected text without tabs; got one; {hint}")
    return f"{source}\t{target}"
