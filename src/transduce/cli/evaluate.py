"""`transduce evaluate`."""

import json as json_format
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from transduce.cli.streams import note, silent
from transduce.errors import ConfigError


def evaluate(
    run: str | None = None,
    data: str | None = None,
    /,
    *,
    hypotheses: Path | None = None,
    references: Annotated[list[Path] | None, Parameter(consume_multiple=True)] = None,
    beam: int | None = None,
    batch_size: int = 64,
    json: bool = False,
    quiet: bool = False,
) -> None:
    """Decodes test data and scores it, every score with its signature.

    Parameters
    ----------
    run
        Run folder of a trained model.
    data
        TSV file of pairs. Default: the test data that the run was configured with.
    hypotheses
        Scores these lines instead, without a model; needs --references.
    references
        The right answers, line by line; several files give several right answers a line.
    beam
        Hypotheses kept at each step; 1 is greedy. Default: the run's own.
    batch_size
        Sentences decoded together. It changes speed and memory, not results.
    json
        One JSON object: examples, metrics, search, model.
    quiet
        Says nothing on stderr but errors.
    """
    say = silent if quiet else note
    if (hypotheses is None) != (references is None):
        raise ConfigError("--hypotheses and --references: expected both or neither")
    if (run is None) == (hypotheses is None):
        raise ConfigError("expected a run folder, or --hypotheses with --references; got both or neither")
    if run is None:
        result = score_files(str(hypotheses), [str(file) for file in references or ()], say)
    else:
        result = score_run(run, data, beam, batch_size, say)
    print(json_format.dumps(result, ensure_ascii=False) if json else table(result))


def score_run(run: str, data: str | None, beam: int | None, batch_size: int, say: Any) -> dict[str, Any]:
    from transduce.run import evaluate as evaluate_run
    from transduce.translator import Translator

    translator = Translator.load(run)
    search = None if beam is None else translator.searcher(width=beam)
    result = evaluate_run(translator, data, search=search, batch_size=batch_size, say=say)
    for remark in translator.notes.lines():
        say(remark)
    return result


def score_files(hypotheses: str, references: list[str], say: Any) -> dict[str, Any]:
    from transduce.data.pairs import read_lines
    from transduce.metrics import by_line, check_lengths, measure, warnings_for
    from transduce.run.evaluate import report

    outputs, streams = list(read_lines(hypotheses)), [list(read_lines(file)) for file in references]
    for stream in streams:
        check_lengths(outputs, stream)
    for warning in warnings_for(outputs, streams[0]):
        say(warning)
    return report(len(outputs), measure(None, outputs, by_line(streams))) | {"search": None, "model": None}


def table(result: dict[str, Any]) -> str:
    """Aligned text: metric, value, signature."""
    lines = [f"{'examples':<16}{result['examples']:>10}"]
    for name, score in result["metrics"].items():
        note = f"  ({score['note']})" if "note" in score else ""
        lines.append(f"{name:<16}{score['value']:>10.4f}  {score['signature']}{note}")
    return "\n".join(lines)
