"""Dates as people write them → ISO 8601, in any language that CLDR knows (package Babel)."""

import datetime
import hashlib
import random
from collections.abc import Iterator

from transduce.data.pairs import Pair, PairSource, Part, Place, Row, numbered
from transduce.data.sources.date_forms import load_languages
from transduce.errors import ConfigError

SIZES: dict[Part, int] = {"train": 16000, "dev": 500, "test": 1000}


class Dates(PairSource, name="dates"):
    """Dates as people write them ("Fri, 12 Mar 2021", "౧౨ మార్చి, ౨౦౨౧") → ISO 8601 ("2021-03-12").

    Only forms that settle the date: the month by name or year-month-day order, the year in four digits.
    A calendar date belongs to one part, by a fixed hash (90 % train, 5 % dev, 5 % test), so no date
    that is scored was trained on in any form. Dev and test ignore the seed.

    Args:
        size: pairs in this part; None means 16000 to train, 500 for dev, 1000 to test.
        locales: CLDR identifiers, each with an equal share of the pairs.
        first_year: earliest year, 1000 or later.
        last_year: latest year (included), 9999 or earlier.
    """

    def __init__(
        self,
        place: Place,
        *,
        size: int | None = None,
        locales: list[str] = ["en", "te"],  # noqa: B006 (never changed)
        first_year: int = 1900,
        last_year: int = 2050,
    ) -> None:
        self.place, self.size = place, SIZES[place.part] if size is None else size
        if self.size < 1:
            raise ConfigError(f"dates: expected size of at least 1; got {size}")
        if not 1000 <= first_year <= last_year <= 9999:
            years = f"first_year {first_year}, last_year {last_year}"
            raise ConfigError(f"dates: expected 1000 ≤ first_year ≤ last_year ≤ 9999; got {years}")
        self.days = range(
            datetime.date(first_year, 1, 1).toordinal(), datetime.date(last_year, 12, 31).toordinal() + 1
        )
        self.languages = load_languages(locales)

    def rows(self, epoch: int = 0) -> Iterator[Row]:
        seed = self.place.seed if self.place.part == "train" else "fixed"
        rng = random.Random(f"dates {self.place.part} {seed}")
        dates, texts, pairs = self._dates(rng), set(), []
        for number in range(self.size):
            date = dates[number % len(dates)]
            text = rng.choice(self.languages).write(date, rng)
            for _ in range(20):  # a text stands twice only where dates and forms are used up
                if text not in texts:
                    break
                text = rng.choice(self.languages).write(date, rng)
            texts.add(text)
            pairs.append(Pair(text, date.isoformat()))
        return numbered(pairs)

    def _dates(self, rng: random.Random) -> list[datetime.date]:
        """Up to `size` dates of this part, each once, in random order."""
        wanted = self.size * (2 if self.place.part == "train" else 40)  # about twice what is needed
        ordinals = rng.sample(self.days, min(len(self.days), max(1000, wanted)))
        drawn = map(datetime.date.fromordinal, ordinals)
        return [date for date in drawn if part_of(date) == self.place.part][: self.size]


def part_of(date: datetime.date) -> Part:
    """The one part that may hold `date`: never to be changed, or old models are scored on what they saw."""
    digest = hashlib.blake2b(date.isoformat().encode(), digest_size=4).digest()
    parts: dict[int, Part] = {0: "dev", 1: "test"}
    return parts.get(int.from_bytes(digest, "big") % 20, "train")
