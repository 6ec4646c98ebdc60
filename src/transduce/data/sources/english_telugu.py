"""English–Telugu pairs that come with the package."""

from collections.abc import Iterator
from importlib import resources

from transduce.data.pairs import PairSource, Place, Row
from transduce.data.sources.tsv import TsvFile


class EnglishTelugu(PairSource, name="english_telugu"):
    """Interface strings of LibreOffice in English and Telugu (MPL-2.0: see NOTICE.md beside the data).

    6,841 pairs to train, 364 for dev, 387 to test. Both sides are stripped; with `lowercase` the English
    side is in lower case, and the Telugu, which has none, is otherwise untouched.
    """

    def __init__(self, place: Place, *, lowercase: bool = True) -> None:
        self.place, self.lowercase = place, lowercase

    def rows(self, epoch: int = 0) -> Iterator[Row]:
        folder = resources.files("transduce.data.sources").joinpath("english_telugu_data")
        with resources.as_file(folder.joinpath(f"{self.place.part}.tsv.gz")) as path:
            for line, source, target in TsvFile(Place(self.place.part), path=str(path)).rows():
                source = source.strip()
                yield Row(line, source.lower() if self.lowercase else source, target.strip())
