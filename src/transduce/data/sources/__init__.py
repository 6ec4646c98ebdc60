"""Sources of pairs: files, and data made by a pure function of part, seed and options."""

from transduce.config import discover

discover(__name__, __path__)
