"""`transduce score`."""

import json as json_format

from transduce.cli.streams import note, silent, write_lines
from transduce.errors import DataError


def score(
    run: str,
    data: str,
    /,
    *,
    json: bool = False,
    batch_size: int = 64,
    device: str = "auto",
    quiet: bool = False,
) -> None:
    """Prints log P(target | source) of each pair: natural log, raw sum, the end of the sentence in.

    Parameters
    ----------
    run
        Run folder of a trained model.
    data
        TSV file of pairs, in the columns that the run was trained on.
    json
        One JSON object a pair: source, target, log_prob.
    batch_size
        Pairs scored together. It changes speed and memory, not results.
    device
        auto, cpu, cuda or mps.
    quiet
        Says nothing on stderr but errors.
    """
    from transduce.run.corpus import read, require, with_columns
    from transduce.translator import Translator

    translator = Translator.load(run, device)
    say = silent if quiet else note
    found = read(require(with_columns(translator.experiment, data), "test"), data, say)
    if found.skipped:  # one line out for each line in, or none at all
        raise DataError(f"{data}: expected text on both sides; lines {found.skipped[:5]} have a blank side")
    pairs = found.pairs
    sources, targets = zip(*pairs, strict=True)
    values = translator.score(sources, targets, batch_size=batch_size)
    if json:
        rows = [
            {"source": pair.source, "target": pair.target, "log_prob": value}
            for pair, value in zip(pairs, values, strict=True)
        ]
        write_lines(json_format.dumps(row, ensure_ascii=False) for row in rows)
    else:
        write_lines(f"{value:.6f}" for value in values)
