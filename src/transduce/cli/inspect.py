"""`transduce inspect`."""

import json as json_format
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from transduce.data.lines import STDIN
from transduce.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transduce.data.doctor.base import Check
    from transduce.data.doctor.examine import Diagnosis
    from transduce.data.doctor.overlap import Known
    from transduce.data.pairs import FileSource

Files = Annotated[list[str] | None, Parameter(consume_multiple=True)]


def inspect(
    data: str,
    target: str | None = None,
    /,
    *,
    columns: str | None = None,
    train: Files = None,
    against: Files = None,
    fix: str | None = None,
    normal_form: Literal["nfc", "nfd"] | None = None,
    json: bool = False,
    strict: bool = False,
) -> None:
    """Looks through a file of pairs for what would hurt a model, and can write a cleaned copy.

    Parameters
    ----------
    data
        TSV or .jsonl file of pairs (.gz is unpacked), or "-" for standard input; or the source file of
        two parallel ones.
    target
        Target file, line by line beside `data`.
    columns
        Source and target column as "1,3" or by the names of a header or of JSON keys, "en,te".
    train
        Training data in the same form as `data`: says which pairs and characters `data` shares with it.
    against
        Other files in the same form, whose pairs `data` should not share.
    fix
        Writes a copy (.tsv or .jsonl, .gz is packed) without blank sides, duplicates, byte order marks
        and CR. It must not exist.
    normal_form
        With --fix, writes all text in this Unicode normal form.
    json
        One JSON object: lines, pairs, faults, notes, findings.
    strict
        Exits with 2 where a fault was found.
    """
    if normal_form is not None and fix is None:
        raise ConfigError("--normal-form needs --fix: expected both, got --normal-form alone")
    given = [data] if target is None else [data, target]
    if [*given, *(train or ()), *(against or ())].count(STDIN) > 1:
        raise ConfigError("expected standard input at most once: it can be read only once")
    from transduce.data.doctor.cleaner import Cleaner
    from transduce.data.doctor.examine import examine
    from transduce.data.doctor.line_ends import line_ends

    with ExitStack() as stack:
        cleaner = None if fix is None else stack.enter_context(Cleaner(fix, normal_form))
        (source,) = sources("DATA", given, len(given), columns)
        extra = comparisons(train or [], against or [], len(given), columns)
        found = examine(source.rows(), extra, cleaner)
    found.findings.extend(finding for file in given if file != STDIN for finding in line_ends(file))
    fixed = None if cleaner is None else {"file": fix, **cleaner.counts}
    if json:
        print(json_format.dumps({"data": given, **found.plain(), "fixed": fixed}, ensure_ascii=False))
    else:
        after = f"transduce evaluate RUN {data}" if train else training(given, columns)
        print("\n".join(in_words(found, given, columns, fixed, after)))
    if strict and (faults := found.of("fault")):
        raise DataError(f"{' '.join(given)}: expected no fault; got {len(faults)} (--strict is on)")


def in_words(
    found: "Diagnosis", given: list[str], columns: str | None, fixed: dict[str, Any] | None, after: str
) -> "Iterator[str]":
    """The lines of the report, a verdict last; `after` is what to do with data without fault."""
    from transduce.data.doctor.report import changes, report, verdict

    data = " ".join(given)
    yield data
    yield from report(found)
    yield ""
    if fixed is not None:
        yield changes(fixed)
        yield f"next: transduce inspect {fixed['file']}"
    else:
        yield verdict(found, data if columns is None else f"{data} --columns {columns}", after)


def comparisons(train: list[str], against: list[str], size: int, columns: str | None) -> "list[Check]":
    """The checks that need other files: `size` of them, 1 or 2, hold pairs together."""
    from transduce.data.doctor.overlap import Known, Leakage, Unseen

    def known(option: str, files: list[str]) -> "Iterator[Known]":
        for number, source in enumerate(sources(option, files, size, columns)):
            names = (Path(file).name for file in files[number * size : (number + 1) * size])
            yield Known(" and ".join(names), source.rows())

    trained = list(known("--train", train))
    return [
        *map(Leakage, [*trained, *known("--against", against)]),
        *map(Unseen, trained),
    ]


def sources(option: str, files: list[str], size: int, columns: str | None) -> "list[FileSource]":
    """Readers of files, of which `size`, 1 or 2, hold pairs together."""
    import transduce.data.sources  # noqa: F401 (registers the readers)
    from transduce.config import Spec
    from transduce.data.pairs import FileSource, Place, format_of

    if len(files) % size:
        raise ConfigError(f"{option}: expected two parallel files, as DATA is; got {len(files)}")
    place = Place("train", 1, *chosen(columns))
    if size == 1:
        return [Spec(FileSource, format_of(path), {"path": path}).build(place) for path in files]
    both = zip(files[::2], files[1::2], strict=True)
    return [Spec(FileSource, "parallel", {"source": one, "target": two}).build(place) for one, two in both]


def training(given: list[str], columns: str | None) -> str:
    """The command that trains on this data."""
    names = ("source", "target")
    path = given[0] if len(given) == 1 else f"'{{source: {given[0]}, target: {given[1]}}}'"
    wanted = zip(names, chosen(columns), strict=True)
    more = "".join(f" data.{name}_column={column}" for name, column in wanted if column is not None)
    return f"transduce train g2p data.train={path}{more}"


def chosen(columns: str | None) -> tuple[int | str | None, int | str | None]:
    """Source and target column, by number or by name."""
    if columns is None:
        return None, None
    source, comma, target = columns.partition(",")
    if not (source and comma and target) or "," in target:
        raise ConfigError(f"--columns: expected two, such as 1,3 or en,te; got {columns!r}")
    first, second = (int(one) if one.isascii() and one.isdigit() else one for one in (source, target))
    return first, second
