"""The data doctor: what to know, and to mend, about pairs before a model is trained on them."""

from transduce.config import discover

discover(__name__, __path__)
