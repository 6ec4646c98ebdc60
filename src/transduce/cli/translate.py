"""`transduce translate`."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from transduce.cli.answers import Answers
from transduce.cli.beside import Beside
from transduce.cli.streams import note, silent
from transduce.data.lines import STDIN
from transduce.errors import ConfigError

Several = Annotated[list[str] | None, Parameter(negative="")]


def translate(
    run: str,
    file: str = STDIN,
    /,
    *,
    beam: int | None = None,
    n_best: int | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    no_repeat_ngram: int | None = None,
    without: Several = None,
    prefix: Path | None = None,
    phrases: Path | None = None,
    sample: bool = False,
    temperature: float | None = None,
    seed: int | None = None,
    search: Several = None,
    replace_unk: bool = False,
    dictionary: Path | None = None,
    json: bool = False,
    attention: bool = False,
    alignments: Path | None = None,
    batch_size: int = 64,
    quiet: bool = False,
) -> None:
    """Translates lines: one line out for each line in, in order; a blank line stays blank.

    Parameters
    ----------
    run
        Run folder of a trained model.
    file
        Text to translate, one sentence a line, UTF-8 (.gz is unpacked); "-" or nothing reads stdin.
    beam
        Hypotheses kept at each step; 1 is greedy. Default: the run's own.
    n_best
        Outputs a line, at most `beam`; without --json as "line TAB rank TAB score TAB text".
    min_length
        Symbols that an output has at least.
    max_length
        Symbols that it has at most, whatever the length of its source.
    no_repeat_ngram
        No sequence of so many symbols comes twice in an output.
    without
        A phrase that no output may hold; may be given several times.
    prefix
        File with the beginning of each output, a line for each line of the input; blank: none.
    phrases
        File with the phrases that each output must hold, parted by tabs, a line for each line of the input.
    sample
        Draws outputs by their probability, instead of searching for the likeliest.
    temperature
        With --sample: below 1 keeps nearer to the likeliest outputs, above 1 strays further.
    seed
        With --sample: the same seed draws the same outputs.
    search
        Any other setting of `search`, as key=value; may be given several times.
    replace_unk
        Puts the source token that was looked at most in the place of an unknown token.
    dictionary
        With --replace-unk: source word TAB target word a line, for what is not simply copied.
    json
        One JSON object a line: text, scores, tokens, n-best.
    attention
        Adds the attention weights to the JSON: a row for each target token, </s> last.
    alignments
        File to write word alignments to, a line for each line of the input: source-target, from 0.
    batch_size
        Sentences decoded together. It changes speed and memory, not results.
    quiet
        Says nothing on stderr but errors.
    """
    needs("--attention", attention, "--json", json)
    needs("--dictionary", dictionary, "--replace-unk", replace_unk)
    from transduce.translator import Translator

    lengths = {"min_length": exactly(min_length), "max_length": exactly(max_length)}
    drawing = {"name": "sampling" if sample else None, "temperature": temperature, "seed": seed}
    counts = {"width": beam, "n_best": n_best, "no_repeat_ngram": no_repeat_ngram, "without": without}
    translator = Translator.load(run)
    chosen = translator.searcher(**changes(lengths | drawing | counts, search or []))
    answers = Answers(translator, chosen, batch_size, json, attention)
    answers.write(file, Beside(prefix), Beside(phrases), alignments, replaced(dictionary, replace_unk))
    for remark in translator.notes.lines():
        (silent if quiet else note)(remark)


def needs(flag: str, given: object, other: str, there: bool) -> None:
    """Refuses a flag that says nothing without another."""
    if given and not there:
        raise ConfigError(f"{flag} needs {other}: expected both, got {flag} alone")


def replaced(dictionary: Path | None, replace: bool) -> Any:
    """What puts unknown tokens back: a dictionary, or whether to copy."""
    from transduce.translator.unknown import read_dictionary

    return read_dictionary(str(dictionary)) if dictionary else replace


def exactly(length: int | None) -> dict[str, Any] | None:
    """A length whatever the source's."""
    return None if length is None else {"ratio": 0.0, "plus": length}


def changes(options: dict[str, Any], settings: list[str]) -> dict[str, Any]:
    """The options that were given, and `--search key=value` settings laid over them."""
    from transduce.config import merge, parse_override

    tree = {key: value for key, value in options.items() if value is not None}
    for setting in settings:
        tree = merge(tree, parse_override(setting))
    return tree
