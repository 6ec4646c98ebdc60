"""`transduce export`."""

from pathlib import Path

from transduce.cli.streams import note, silent


def export(run: str, /, *, out: Path, quiet: bool = False) -> None:
    """Writes a trained model as ONNX graphs, for runtimes without torch or Python.

    Parameters
    ----------
    run
        Run folder of a trained model.
    out
        New or empty folder: encoder.onnx, decoder.onnx (one step), tokenizers, and export.json about them.
    quiet
        Says nothing on stderr but errors.
    """
    from transduce.export import export as write
    from transduce.translator import Translator

    write(Translator.load(run), out)
    (silent if quiet else note)(f"wrote {out}: what goes in and comes out stands in export.json")
