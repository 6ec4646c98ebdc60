"""`transduce evaluate`."""

import json as json_format
from collections.abc import Mapping
from typing import Annotated, Any

from cyclopts import Parameter

from transduce.cli.evaluation_options import Options
from transduce.cli.streams import note, silent
from transduce.errors import ModelError

Several = Annotated[list[str] | None, Parameter(consume_multiple=True)]
REMARKS = {
    "by_length": "a decline with length does not by itself prove a limit of storage: longer sources differ "
    "in more than length, and scores of few lines are rough",
    "comparison": "the comparison tells what another choice of test lines might do, not what other training "
    "seeds would: train each system with several",
}


def evaluate(
    run: str | None = None,
    data: str | None = None,
    /,
    *,
    hypotheses: str | None = None,
    references: Several = None,
    sources: str | None = None,
    metrics: str | None = None,
    confidence: bool = False,
    with_: Several = None,
    mean: str | None = None,
    weights: str | None = None,
    compare: str | None = None,
    by_length: bool = False,
    length_bounds: str | None = None,
    sentences: bool = False,
    errors: bool = False,
    gold_alignments: str | None = None,
    alignment_threshold: float | None = None,
    check_batching: bool = False,
    int8: bool = False,
    device: str = "auto",
    sweep: Several = None,
    select: str | None = None,
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
        File of pairs. Default: the test data that the run was configured with (dev data for --sweep).
    hypotheses
        Scores these lines instead, without a model; needs --references.
    references
        The right answers, line by line; several files give several right answers a line.
    sources
        What the hypotheses were made of, line by line: for --by-length (in words) and --sentences.
    metrics
        Which scores, parted by commas, such as bleu,chrf or "{name: chrf, word_order: 2}". Default: all.
    confidence
        Adds a 95 % bootstrap interval to each score.
    with_
        More runs, decoded with as one: models may differ in all but the target vocabulary.
    mean
        With --with: the mean of probabilities (default) or log_probabilities.
    weights
        With --with: how much each run counts, the first run first, such as 0.7,0.3. Default: all alike.
    compare
        Another system on the same lines, a file of its outputs or a run folder: difference and p-value.
    by_length
        Scores by source length as well, in tokens of the run.
    length_bounds
        The longest lengths of its buckets, such as 10,20,30. Default: tens.
    sentences
        Scores each line by itself, as TSV: line, scores, source, hypothesis, references.
    errors
        Says of wrong outputs whether the search missed the answer or the model prefers its own.
    gold_alignments
        Word alignments in Pharaoh's format ("0-0 1-2", possible ones "1?2"): error rate of the attention.
    alignment_threshold
        Links words by at least so much attention. Default: each target word by its most.
    check_batching
        Decodes the lines alone and in batches, and says whether any output differs.
    device
        auto, cpu, cuda or mps.
    int8
        Decodes in 8-bit integers as well: both scores side by side, and how many outputs differ.
    sweep
        Tries every combination of search settings, such as search.width=1,3,5, on dev data.
    select
        The metric that a sweep chooses by. Default: what training selected by.
    beam
        Hypotheses kept at each step; 1 is greedy. Default: the run's own.
    batch_size
        Sentences decoded together. It changes speed and memory, not results.
    json
        One JSON object: examples, metrics, search, model, and what was asked for beside them.
    quiet
        Says nothing on stderr but errors.
    """
    options = Options(**locals())
    from transduce.cli.evaluation import perform
    from transduce.cli.evaluation_text import to_text

    say = silent if quiet else note
    result = perform(options, say)
    for part in [part for part in REMARKS if part in result]:
        say(REMARKS[part])
    print(json_format.dumps(result, ensure_ascii=False) if json else to_text(result))
    fail_if_batches_matter(result)


def fail_if_batches_matter(result: Mapping[str, Any]) -> None:
    """Ends the command as failed where `--check-batching` has found a fault."""
    if faults := result.get("batching", {}).get("faults"):
        raise ModelError(f"--check-batching: {len(faults)} outputs depend on the batch")
