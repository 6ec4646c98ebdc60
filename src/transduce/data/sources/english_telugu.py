"""English–Telugu pairs that come with the package."""

from importlib import resources

from transduce.data.pairs import Pair, Pairs, PairSource, Place, TsvFile


class EnglishTelugu(PairSource, name="english_telugu"):
    """Interface strings of LibreOffice in English and Telugu (MPL-2.0: see NOTICE.md beside the data).

    6,841 pairs to train, 364 for dev, 387 to test. Both sides are stripped; with `lowercase` the English
    side is in lower case, and the Telugu, which has none, is otherwise untouched.
    """

    def __init__(self, place: Place, *, lowercase: bool = True) -> None:
        self.place, self.lowercase = place, lowercase

    def read(self, epoch: int = 0) -> Pairs:
        folder = resources.files("transduce.data.sources").joinpath("english_telugu_data")
        with resources.as_file(folder.joinpath(f"{self.place.part}.tsv.gz")) as path:
            found = TsvFile(Place(self.place.part), path=str(path)).read()
        return Pairs([self._prepared(pair) for pair in found.pairs], found.skipped)

    def _prepared(self, pair: Pair) -> Pair:
        source = pair.source.strip()
        return Pair(source.lower() if self.lowercase else source, pair.target.strip())
