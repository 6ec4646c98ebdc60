"""The ways to write a date in one locale, from the names and patterns of Unicode's CLDR (package Babel)."""

import datetime
import difflib
import random
import re
from collections import defaultdict
from itertools import permutations
from typing import Any, NamedTuple

from transduce.errors import ConfigError, missing_extra

NATIVE_SHARE = 0.25
CASES = (str, str, str, str, str, str, str, str.lower, str.lower, str.upper)

# CLDR's pattern letters that may stand in a form: what each tells (N: a month's name), how it is written.
FIELDS = {
    **dict.fromkeys(("y", "yyyy"), ("y", "{0.year}")),
    **dict.fromkeys(("M", "L"), ("M", "{0.month}")),
    **dict.fromkeys(("MM", "LL"), ("M", "{0.month:02}")),
    **dict.fromkeys(("MMM", "MMMM", "LLL", "LLLL"), ("N", "{month}")),
    **dict.fromkeys(("E", "EE", "EEE", "EEEE", "ccc", "cccc"), ("E", "{weekday}")),
    "d": ("d", "{0.day}"),
    "dd": ("d", "{0.day:02}"),
    "ddd": ("d", "{ordinal}"),
}
DECISIVE = {"yMd", *map("".join, permutations("yNd"))}
TOKEN = re.compile(r"'([^']*)'|(([A-Za-z])\3*)|([^A-Za-z']+)")
ORDINALS = [f"{n}{'th' if 10 < n < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}" for n in range(32)]
ZEROS = {
    "arab": "٠", "arabext": "۰", "beng": "০", "deva": "०", "gujr": "૦", "guru": "੦", "knda": "೦",
    "mlym": "൦", "orya": "୦", "tamldec": "௦", "telu": "౦", "thai": "๐",
}  # fmt: skip
EXTRA = {
    "en": (
        "MMMM d y", "MMM d y", "MMMM ddd, y", "MMMM ddd y", "d MMMM y", "d MMM y", "dd MMM y", "d MMMM, y",
        "ddd MMMM y", "ddd MMM y", "ddd 'of' MMMM y", "'the' ddd 'of' MMMM, y", "d-MMM-y", "dd-MMM-y",
        "E, d MMM y", "E d MMM y", "E, dd MMM y", "EEEE, d MMMM y", "EEEE d MMMM y", "EEEE, ddd MMMM y",
        "EEEE, MMMM ddd, y", "EEEE 'the' ddd 'of' MMMM y", "d MMMM y (EEEE)", "y MMMM d", "y, MMMM d",
        "y MMM d", "y-MMM-dd", "y/MM/dd", "y.MM.dd",
    ),
    "te": (
        "MMMM d, y", "MMMM d y", "MMM d, y", "d MMMM y", "d MMM y", "d-MMM-y", "d-MMMM-y", "y MMMM d",
        "y MMM d", "y MMMM d, EEEE", "y MMMM d EEEE", "d MMMM, y EEEE", "EEEE, d MMMM y", "EEEE, MMMM d, y",
        "E, d MMM y", "y MMMM dవ తేదీ", "MMMM dవ తేదీ, y", "dవ తేదీ, MMMM y", "y/MM/dd",
    ),
}  # fmt: skip


class Form(NamedTuple):
    """One way to write a date: a template, and the names of months and weekdays that fill it."""

    template: str
    months: tuple[str, ...]
    weekdays: tuple[str, ...]

    def write(self, date: datetime.date) -> str:
        month = self.months[date.month - 1] if self.months else ""
        weekday = self.weekdays[date.weekday()] if self.weekdays else ""
        return self.template.format(date, month=month, weekday=weekday, ordinal=ORDINALS[date.day])


class Language(NamedTuple):
    """The forms of one locale, its own digits if they are not 0–9, and whether its case is varied."""

    forms: list[Form]
    digits: dict[int, str]
    cased: bool

    def write(self, date: datetime.date, rng: random.Random) -> str:
        text = rng.choice(self.forms).write(date)
        if self.digits and rng.random() < NATIVE_SHARE:
            text = text.translate(self.digits)
        return rng.choice(CASES)(text) if self.cased else text


def load_languages(names: list[str]) -> list[Language]:
    """The forms of each locale, without those whose month names mean another month elsewhere among them."""
    if not names:
        raise ConfigError("dates: expected at least one of locales; got none")
    locales = [_find_locale(name) for name in names]
    compiled = [_compile_all(locale) for locale in locales]
    meanings = defaultdict(set)
    for form in (form for forms in compiled for form in forms):
        for number, name in enumerate(form.months):
            meanings[_bare(name)].add(number)
    return [
        Language(
            [form for form in forms if all(len(meanings[_bare(name)]) == 1 for name in form.months)],
            _native_digits(locale),
            locale.language == "en",
        )
        for locale, forms in zip(locales, compiled, strict=True)
    ]


def _bare(name: str) -> str:
    return name.casefold().strip(". ")


def _find_locale(name: str) -> Any:
    try:
        from babel import Locale, UnknownLocaleError
    except ImportError:
        raise missing_extra("babel", "demo", "dates") from None
    try:
        return Locale.parse(name.replace("-", "_"))
    except (UnknownLocaleError, ValueError):
        raise ConfigError(f"dates: unknown locale {name!r}; {_suggest(name)}") from None


def _suggest(name: str) -> str:
    """The locale that was probably meant, by its identifier or its language's English name."""
    from babel import Locale
    from babel.localedata import locale_identifiers

    known = {text.casefold(): code for code, text in Locale("en").languages.items()}
    known.update({code.casefold(): code for code in locale_identifiers()})
    close = difflib.get_close_matches(name.casefold(), known, n=1)
    return f"did you mean {known[close[0]]!r}?" if close else "known: all of CLDR, such as 'en' or 'pt_BR'"


def _native_digits(locale: Any) -> dict[int, str]:
    zero = ZEROS.get(locale.other_numbering_systems.get("native"))
    return {ord("0") + n: chr(ord(zero) + n) for n in range(10)} if zero else {}


def _compile_all(locale: Any) -> list[Form]:
    named = [*locale.date_formats.values(), *locale.datetime_skeletons.values()]
    patterns = [getattr(pattern, "pattern", pattern) for pattern in named]
    patterns += ["y-MM-dd", *EXTRA.get(locale.language, ())]
    forms = (compile_form(pattern, locale) for pattern in patterns)
    return list(dict.fromkeys(form for form in forms if form))


def compile_form(pattern: str, locale: Any) -> Form | None:
    """The form that a CLDR pattern stands for; None where it would not settle the date."""
    template, order = "", ""
    names: dict[str, tuple[str, ...]] = {"N": (), "E": ()}
    for quoted, field, _, plain in TOKEN.findall(pattern):
        kind, text = FIELDS.get(field, ("?", "")) if field else ("", _literal(quoted or plain or "'"))
        if kind in names:
            names[kind] = _names(locale, kind, field)
        order, template = order + kind, template + text
    ordinal = "{ordinal}" in template and locale.language != "en"
    numbers = any(_bare(name).isdigit() for name in names["N"])
    if ordinal or numbers or order.replace("E", "", 1) not in DECISIVE:
        return None
    return Form(template, names["N"], names["E"])


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _names(locale: Any, kind: str, field: str) -> tuple[str, ...]:
    context = "stand-alone" if field[0] in "Lc" else "format"
    table = locale.months if kind == "N" else locale.days
    names = table[context]["wide" if len(field) == 4 else "abbreviated"]
    return tuple(names[number] for number in sorted(names))
