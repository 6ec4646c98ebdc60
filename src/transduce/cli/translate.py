"""`transduce translate`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from transduce.cli.streams import note, silent
from transduce.cli.translation_options import Options
from transduce.data.lines import STDIN

Several = Annotated[list[str] | None, Parameter(negative="")]
Runs = Annotated[list[str] | None, Parameter(consume_multiple=True)]


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
    with_: Runs = None,
    mean: str | None = None,
    weights: str | None = None,
    replace_unk: bool = False,
    dictionary: Path | None = None,
    json: bool = False,
    attention: bool = False,
    trace: bool = False,
    alignments: Path | None = None,
    alignment_threshold: float | None = None,
    int8: bool = False,
    device: str = "auto",
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
    with_
        More runs, to decode with as one: models may differ in all but the target vocabulary.
    mean
        With --with: the mean of probabilities (default) or log_probabilities.
    weights
        With --with: how much each run counts, the first run first, such as 0.7,0.3. Default: all alike.
    replace_unk
        Puts the source token that was looked at most in the place of an unknown token.
    dictionary
        With --replace-unk: source word TAB target word a line, for what is not simply copied.
    json
        One JSON object a line: text, scores, tokens, n-best.
    attention
        Adds the attention weights to the JSON: a row for each target token, </s> last.
    trace
        Adds to the JSON how it was decoded: the beam at each step, what was pruned and why, all attention.
    alignments
        File to write word alignments to, a line for each line of the input: source-target, from 0.
    alignment_threshold
        Links words by at least so much attention. Default: each target word by its most.
    device
        auto, cpu, cuda or mps.
    int8
        Computes in 8-bit integers: faster on a CPU, slightly less exact; `evaluate --int8` says how much.
    batch_size
        Sentences decoded together. It changes speed and memory, not results.
    quiet
        Says nothing on stderr but errors.
    """
    options = Options(**locals())
    from transduce.cli.translation import perform

    perform(options, silent if quiet else note)
