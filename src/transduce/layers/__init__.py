"""The parts that encoders and decoders are made of."""

from transduce.config import discover

discover(__name__, __path__)
