"""Made dates against readings that share nothing with how they were written."""

import datetime
import os
import re
import subprocess
import sys
from collections import Counter

import pytest
from babel import Locale

from transduce.config import Spec, dump_options, dump_yaml, parse_yaml
from transduce.data.pairs import Pair, PairSource, Place
from transduce.data.sources.date_forms import ORDINALS, compile_form, load_languages
from transduce.data.sources.dates import Dates, part_of
from transduce.errors import ConfigError

PARTS = ("train", "dev", "test")
MONTHS = [
    "jan జన", "feb ఫిబ్ర", "mar మార్చి", "apr ఏప్రి", "may మే", "jun జూన్", "jul జులై", "aug ఆగ", "sep సెప్టెం",
    "oct అక్టో", "nov నవం", "dec డిసెం",
]  # fmt: skip
WEEKDAYS = ["mon సోమ", "tue మంగళ", "wed బుధ", "thu గురు", "fri శుక్ర", "sat శని", "sun ఆది"]


def read(part: str = "train", seed: int = 1, **options) -> list[Pair]:
    return Dates(Place(part, seed), **options).read().pairs


def stem(word: str, stems: list[str]) -> int | None:
    """Which of the English or Telugu stems `word` begins with, from 1."""
    found = [n for n, row in enumerate(stems, 1) if any(word.startswith(one) for one in row.split())]
    return found[0] if found else None


def understand(text: str) -> str:
    """Reads a date by hand-made rules: four digits are the year; a name is the month, else year-month-day."""
    words = re.findall(r"\d+|[^\W\d][^\s\d,.()/-]*", text.lower())
    numbers = [int(word) for word in words if word[0].isdigit()]
    (year,) = [number for number in numbers if number > 999]
    rest = [number for number in numbers if number < 1000]
    weekdays = [n for word in words if (n := stem(word, WEEKDAYS))]
    months = [n for word in words if (n := stem(word, MONTHS)) and not stem(word, WEEKDAYS)]
    if not months:
        assert numbers[0] == year
        months, rest = rest[:1], rest[1:]
    (month,), (day,) = months, rest
    date = datetime.date(year, month, day)
    assert weekdays in ([], [date.isoweekday()])
    return date.isoformat()


@pytest.fixture(scope="module")
def train() -> list[Pair]:
    return read()


def test_sizes_are_those_of_the_part_and_no_text_comes_twice(train):
    for part, size in (("train", 16000), ("dev", 500), ("test", 1000)):
        pairs = train if part == "train" else read(part)
        assert len(pairs) == len({pair.source for pair in pairs}) == size
    assert len(read("dev", size=7)) == 7


@pytest.mark.parametrize("part", PARTS)
def test_targets_are_what_a_reader_understands(part, train):
    for source, target in train[:6000] if part == "train" else read(part):
        assert understand(source) == target


def test_no_form_of_any_text_has_two_meanings():
    days = [datetime.date(2019, 1, 1) + datetime.timedelta(n) for n in range(0, 365 * 2, 5)]
    meant: dict[str, datetime.date] = {}
    for language in load_languages(["en", "te"]):
        for form in language.forms:
            for day in days:
                text = form.write(day)
                assert meant.setdefault(text.lower(), day) == day
                assert understand(text) == day.isoformat()


def test_a_text_keeps_its_meaning_over_parts_and_seeds(train):
    meant = dict(train)
    for part, seed in (("train", 2), ("dev", 1), ("test", 1)):
        for source, target in read(part, seed, size=2700):
            assert meant.setdefault(source, target) == target


def test_no_date_is_in_two_parts_whatever_the_seed(train):
    dates = {part: {pair.target for pair in read(part, size=2700)} for part in ("dev", "test")}
    others = read(seed=2, size=4000) + read(seed=9, size=4000)
    dates["train"] = {pair.target for pair in train + others}
    assert not dates["train"] & dates["dev"]
    assert not dates["train"] & dates["test"]
    assert not dates["dev"] & dates["test"]


def test_the_split_of_the_calendar_never_changes():
    start = datetime.date(1900, 1, 1)
    parts = Counter(part_of(start + datetime.timedelta(n)) for n in range(55152))
    assert parts == {"train": 49622, "dev": 2804, "test": 2726}
    assert [part_of(datetime.date(2021, 2, day)) for day in (1, 7, 8)] == ["test", "dev", "train"]


def test_only_training_depends_on_the_seed():
    assert read("train", 1, size=300) == read("train", 1, size=300) != read("train", 2, size=300)
    for part in ("dev", "test"):
        assert read(part, 1, size=80) == read(part, 2, size=80)
    source = Dates(Place("train"), size=30)
    assert source.fresh is False
    assert source.read(0) == source.read(7)


def test_the_same_in_every_process_and_without_torch():
    code = (
        "import sys, transduce.data.sources\nfrom transduce.data.pairs import PairSource, Place\n"
        "pairs = PairSource.family['dates'](Place('train', 4), size=40).read().pairs\n"
        "print(repr(pairs), 'torch' in sys.modules)"
    )
    path = os.pathsep.join(entry for entry in sys.path if entry)
    for seed in ("0", "42"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
        run = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, encoding="utf-8", check=True
        )
        assert run.stdout == f"{read('train', 4, size=40)!r} False\n"


@pytest.mark.parametrize(
    ("locale", "written"),
    [
        ("en", "Friday, March 12, 2021|March 12, 2021|Mar 12, 2021|12 March 2021|12th March 2021"),
        ("en", "Fri, 12 Mar 2021|the 12th of March, 2021|March 12th, 2021|12-Mar-2021"),
        ("en", "2021-03-12|2021/03/12|2021 March 12"),
        ("te", "12, మార్చి 2021, శుక్రవారం|12 మార్చి, 2021|2021 మార్చి 12|12 మార్చి, 2021 శుక్రవారం|2021-03-12"),
        ("de", "Freitag, 12. März 2021|12. März 2021|2021-03-12"),
        ("pt-BR", "sexta-feira, 12 de março de 2021|12 de março de 2021"),
        ("ja", "2021年3月12日金曜日|2021年3月12日"),
    ],
)
def test_forms_people_use_are_there(locale, written):
    (language,) = load_languages([locale])
    forms = {form.write(datetime.date(2021, 3, 12)) for form in language.forms}
    assert set(written.split("|")) <= forms
    assert not forms & {"12/3/2021", "12.3.2021", "3/12/2021", "12.03.2021", "12/03/2021", "12. 3. 2021"}


@pytest.mark.parametrize(
    ("locale", "pattern", "written"),
    [
        ("en", "d 'of' MMMM, y ''{E}''", "2 of March, 2021 '{Tue}'"),
        ("en", "ddd LLLL yyyy", "2nd March 2021"),
        ("de", "cccc, dd. LLL y", "Dienstag, 02. Mär 2021"),
        ("en", "y/M/d", "2021/3/2"),
        ("en", "y/d/M", None),
        ("en", "d/M/y", None),
        ("en", "d MMMM yy", None),
        ("en", "d MMMM y G", None),
        ("en", "MMMM y", None),
        ("en", "d MMMM y d", None),
        ("en", "E d MMMM y E", None),
        ("de", "ddd MMMM y", None),
        ("dz", "d MMM y", None),  # its short month names are numbers
    ],
)
def test_only_patterns_that_settle_the_date_make_a_form(locale, pattern, written):
    form = compile_form(pattern, Locale.parse(locale))
    assert (form and form.write(datetime.date(2021, 3, 2))) == written


def test_english_ordinals():
    assert ORDINALS[1:5] == ["1st", "2nd", "3rd", "4th"]
    assert ORDINALS[10:14] == ["10th", "11th", "12th", "13th"]
    assert ORDINALS[20:25] == ["20th", "21st", "22nd", "23rd", "24th"]
    assert ORDINALS[30:] == ["30th", "31st"]


def test_both_languages_digits_and_cases_have_their_share(train):
    sources = [pair.source for pair in train]
    telugu = [text for text in sources if re.search("[\u0c00-\u0c7f]", text)]
    native = [text for text in telugu if re.search("[౦-౯]", text)]
    english = [text for text in sources if re.search("[A-Za-z]", text)]
    assert 0.45 < len(telugu) / len(sources) < 0.55
    assert 0.2 < len(native) / len(telugu) < 0.3
    assert not any(re.search("[0-9]", text) for text in native)
    assert 0.15 < sum(text.islower() for text in english) / len(english) < 0.25
    assert 0.07 < sum(text.isupper() for text in english) / len(english) < 0.13


def test_years_and_locales_are_those_asked_for():
    years = Counter(int(target[:4]) for _, target in read(size=2000, first_year=1990, last_year=1999))
    assert set(years) == set(range(1990, 2000))
    months = ["janv", "févr", "mars", "avr", "mai", "juin", "juil", "août", "sept", "oct", "nov", "déc"]
    for source, target in read(size=300, locales=["fr"]):
        assert months[int(target[5:7]) - 1] in source or source == target


@pytest.mark.parametrize("part", ["dev", "test"])
def test_one_pair_of_one_year_is_found(part):
    for year in (1000, 9999, *range(2000, 2018)):
        ((source, target),) = read(part, size=1, first_year=year, last_year=year)
        assert understand(source) == target


@pytest.mark.parametrize("part", PARTS)
def test_few_dates_are_used_in_many_forms(part):
    pairs = read(part, size=2000, first_year=2000, last_year=2000)
    assert len(pairs) == 2000
    assert all(understand(source) == target for source, target in pairs)
    year = [datetime.date(2000, 1, 1) + datetime.timedelta(n) for n in range(366)]
    held = {date.isoformat() for date in year if part_of(date) == part}
    assert {target for _, target in pairs} == held
    assert len(set(pairs)) > min(2000 * 0.99, 40 * len(held))


def test_names_that_mean_another_month_elsewhere_are_left_out():
    both = [form for language in load_languages(["hr", "pl"]) for form in language.forms]
    assert any("listopada" in form.months for form in load_languages(["pl"])[0].forms)
    assert any("listopada" in form.months for form in load_languages(["hr"])[0].forms)
    assert not any("listopada" in form.months for form in both)
    assert both


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("telugu", "did you mean 'te'"),
        ("englsh", "did you mean 'en'"),
        ("en_GX", "did you mean 'en_"),
        ("", "known: "),
    ],
)
def test_unknown_locales_are_refused_with_a_suggestion(name, hint):
    with pytest.raises(ConfigError, match=f"dates: unknown locale '{name}'; {hint}"):
        Dates(Place(), locales=["en", name])


def test_other_options_that_cannot_work_are_refused():
    with pytest.raises(ConfigError, match="dates: expected size of at least 1; got 0"):
        Dates(Place(), size=0)
    with pytest.raises(ConfigError, match="at least one of locales"):
        Dates(Place(), locales=[])
    for first, last in ((2001, 2000), (999, 2000), (2000, 10000)):
        with pytest.raises(ConfigError, match=f"first_year {first}, last_year {last}"):
            Dates(Place(), first_year=first, last_year=last)


def test_without_babel_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "babel", None)
    with pytest.raises(ConfigError, match=re.escape("pip install 'transduce[demo]'")):
        Dates(Place())


def test_it_is_chosen_by_name_and_its_options_survive_yaml():
    assert Spec(PairSource, "dates", {"size": 5}).build(Place("dev")).read().pairs == read("dev", size=5)
    plain = dump_options(Dates, {})
    assert plain == {
        "name": "dates", "size": None, "locales": ["en", "te"], "first_year": 1900, "last_year": 2050,
    }  # fmt: skip
    assert parse_yaml(dump_yaml(plain), "test") == plain
