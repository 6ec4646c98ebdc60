"""Text to text: the one class most users need."""

from transduce.translator.ensembles import join, load
from transduce.translator.lines import Line
from transduce.translator.translator import Translator

__all__ = ["Line", "Translator", "join", "load"]
