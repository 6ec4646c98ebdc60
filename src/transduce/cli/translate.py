"""`transduce translate`."""

import json as json_format
from collections.abc import Iterable, Iterator

from transduce.cli.app import STDIN
from transduce.cli.streams import note, read_input, silent, write_lines
from transduce.errors import ConfigError


def translate(
    run: str,
    file: str = STDIN,
    /,
    *,
    beam: int | None = None,
    n_best: int | None = None,
    json: bool = False,
    attention: bool = False,
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
    json
        One JSON object a line: text, scores, tokens, n-best.
    attention
        Adds the attention weights to the JSON: a row for each target token, </s> last.
    batch_size
        Sentences decoded together. It changes speed and memory, not results.
    quiet
        Says nothing on stderr but errors.
    """
    if attention and not json:
        raise ConfigError("--attention needs --json: expected both, got --attention alone")
    from transduce.translator import Translator

    translator = Translator.load(run)
    options = {"width": beam, "n_best": n_best}
    search = translator.searcher(**{key: value for key, value in options.items() if value is not None})
    show = as_json if json else as_table if search.n_best > 1 else as_text
    line = 0
    for group in read_input(file):
        results = translator.stream(group, search=search, batch_size=batch_size, attention=attention)
        write_lines(show(results, line))
        line += len(group)
    for remark in translator.notes.lines():
        (silent if quiet else note)(remark)


def as_text(results: Iterable, line: int) -> Iterator[str]:
    return (result.text for result in results)


def as_json(results: Iterable, line: int) -> Iterator[str]:
    return (json_format.dumps(result.plain(), ensure_ascii=False) for result in results)


def as_table(results: Iterable, line: int) -> Iterator[str]:
    for number, result in enumerate(results, line + 1):
        for rank, best in enumerate(result.n_best or [result], 1):
            yield f"{number}\t{rank}\t{best.score:.6f}\t{best.text}"
