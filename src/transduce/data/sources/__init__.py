"""Made data: pair sources that need no file, each a pure function of part, seed and options."""

from transduce.config import discover

discover(__name__, __path__)
