"""What `transduce translate` does once its options are known to go together."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from transduce.cli.answers import Answers
from transduce.cli.beside import Beside
from transduce.cli.system import load_runs, place
from transduce.cli.translation_options import Options
from transduce.packing import pack
from transduce.quantisation import quantise
from transduce.translator.unknown import read_dictionary

ALTERNATIVES = 5  # tokens a trace tells of at each step, beside those that were chosen


def perform(options: Options, say: Callable[[str], None]) -> None:
    """Translates the file, and says what a user should hear about it."""
    translator = load_runs(
        options.run, options.with_, options.mean, options.weights, place(options.int8, options.device)
    )
    (quantise if options.int8 else pack)(translator.model)
    answers = Answers(
        translator,
        translator.searcher(**options.changes),
        options.batch_size,
        options.json,
        options.attention,
        ALTERNATIVES if options.trace else 0,
    )
    answers.write(
        options.file,
        Beside(options.prefix),
        Beside(options.phrases),
        (options.alignments, options.alignment_threshold),
        replaced(options.dictionary, options.replace_unk),
    )
    for remark in translator.notes.lines():
        say(remark)


def replaced(dictionary: Path | None, replace: bool) -> Any:
    """What puts unknown tokens back: a dictionary, or whether to copy."""
    return read_dictionary(str(dictionary)) if dictionary else replace
