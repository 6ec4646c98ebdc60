"""Numbers written out in words → digits, in any language that num2words knows."""

import hashlib
import random
from collections.abc import Callable, Iterator
from types import ModuleType

from transduce.data.pairs import Pair, PairSource, Part, Place, Row, numbered
from transduce.errors import ConfigError, missing_extra

SIZES: dict[Part, int] = {"train": 16000, "dev": 500, "test": 1000}
PATIENCE = 400  # draws a pair; dev and test need 20 where numbers abound


class Numbers(PairSource, name="numbers"):
    """Whole numbers in words ("two hundred and five", "రెండు వందల అయిదు") → digits ("205").

    A number is drawn by its count of digits first, so that short ones are not lost among long ones. It
    belongs to one part, by a fixed hash (90 % train, 5 % dev, 5 % test), so nothing that is scored was
    trained on in any language. Dev and test ignore the seed. Words are those of the package num2words.

    Args:
        size: pairs in this part; None means 16000 to train, 500 for dev, 1000 to test.
        languages: num2words' codes, each with an equal share of the pairs.
        digits: of the longest numbers, 1 to 12.
        task: `read` words to digits, or `write` digits to words (of one language).
    """

    def __init__(
        self,
        place: Place,
        *,
        size: int | None = None,
        languages: list[str] = ["en", "te"],  # noqa: B006 (never changed)
        digits: int = 6,
        task: str = "read",
    ) -> None:
        self.place, self.size, self.digits, self.task = place, size or SIZES[place.part], digits, task
        check(size, languages, digits, task)
        self.speakers = [speaker(language) for language in languages]

    def rows(self, epoch: int = 0) -> Iterator[Row]:
        seed = self.place.seed if self.place.part == "train" else "fixed"
        rng, pairs = random.Random(f"numbers {self.place.part} {seed}"), []
        for _ in range(PATIENCE * self.size):
            length = rng.randint(1, self.digits)
            number = rng.randrange(10 ** (length - 1) if length > 1 else 0, 10**length)
            if part_of(number) == self.place.part:
                sides = rng.choice(self.speakers)(number), str(number)
                pairs.append(Pair(*(sides if self.task == "read" else sides[::-1])))
            if len(pairs) == self.size:
                return numbered(pairs)
        raise ConfigError(
            f"numbers: expected numbers for {self.place.part}; too few have {self.digits} digits"
        )


def part_of(number: int) -> Part:
    """The one part that may hold `number`: never to be changed, or old models are scored on what they saw."""
    digest = hashlib.blake2b(str(number).encode(), digest_size=4).digest()
    parts: dict[int, Part] = {0: "dev", 1: "test"}
    return parts.get(int.from_bytes(digest, "big") % 20, "train")


def speaker(language: str) -> Callable[[int], str]:
    """What says a number in this language."""
    package = num2words()
    if language not in package.CONVERTER_CLASSES:
        known = ", ".join(sorted(package.CONVERTER_CLASSES))
        raise ConfigError(f"numbers: unknown language {language!r}; known: {known}")
    return lambda number: package.num2words(number, lang=language)


def num2words() -> ModuleType:
    try:
        import num2words
    except ImportError:
        raise missing_extra("num2words", "recipes", "numbers in words") from None
    return num2words


def check(size: int | None, languages: list[str], digits: int, task: str) -> None:
    if size is not None and size < 1:
        raise ConfigError(f"numbers: expected size of at least 1; got {size}")
    if not 1 <= digits <= 12:
        raise ConfigError(f"numbers: expected 1 to 12 digits; got {digits}")
    if task not in ("read", "write"):
        raise ConfigError(f"numbers: expected task 'read' or 'write'; got {task!r}")
    if not languages or (task == "write" and len(languages) > 1):
        raise ConfigError(
            f"numbers: expected {'one language' if languages else 'a language'} for task {task!r}; "
            f"got {', '.join(languages) or 'none'}"
        )
