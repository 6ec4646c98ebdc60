"""What `transduce evaluate` does once its options are known to go together."""

from collections.abc import Callable, Sequence
from typing import Any

from transduce.cli.evaluation_options import Options
from transduce.cli.system import load_runs, place
from transduce.config import Spec
from transduce.data.pairs import Pair
from transduce.metrics.chosen import parse_metrics
from transduce.packing import pack
from transduce.run.alignment import AlignmentErrors, read_gold
from transduce.run.batching import Batching
from transduce.run.comparison import Compared, open_system
from transduce.run.corpus import Say
from transduce.run.evaluate import describe, evaluate_pairs, read_pairs
from transduce.run.outputs import Names, read_outputs
from transduce.run.quantised import Quantised
from transduce.run.reports import ByLength, Intervals, ModelReport, Report, Scores, Sentences
from transduce.run.search_errors import SearchErrors
from transduce.run.sweep import combinations, search_with, sweep
from transduce.search import Search
from transduce.translator import Translator


def perform(options: Options, say: Say) -> dict[str, Any]:
    """The object that `--json` prints: of files, of a sweep, or of a run."""
    names = None if options.metrics is None else parse_metrics(options.metrics)
    if options.run is None:
        return score_files(options, names, say)
    translator = load_runs(
        options.run, options.with_, options.mean, options.weights, place(options.int8, options.device)
    )
    if not options.int8:  # which is told of beside the model as it is
        pack(translator.model)
    search = translator.experiment.search
    if options.beam is not None:
        search = search_with(search, {"search.width": options.beam}, f"--beam {options.beam}")
    if options.sweep is None:
        return score_run(translator, search, options, names, say)
    return sweep(
        translator,
        combinations(search, options.sweep),
        options.data,
        metrics=names,
        select=options.select,
        batch_size=options.batch_size,
        say=say,
    )


def score_files(options: Options, names: Names, say: Say) -> dict[str, Any]:
    """Scores outputs that some system has written to a file."""
    outputs = read_outputs(str(options.hypotheses), options.references or (), options.sources)
    reports = reports_for(options, names, len(outputs.hypotheses))
    return describe(outputs, reports, say) | {"search": None, "model": None}


def score_run(
    translator: Translator, search: Spec[Search], options: Options, names: Names, say: Say
) -> dict[str, Any]:
    """Decodes data by the model of a run, and scores it."""
    pairs = read_pairs(translator, options.data, say)
    reports = [
        *reports_for(options, names, len(pairs.pairs), translator.target_tokenizer.normalise),
        *model_reports_for(options, translator, search, pairs.pairs, names),
    ]
    result = evaluate_pairs(
        translator, pairs, search=search, batch_size=options.batch_size, reports=reports, say=say
    )
    for remark in translator.notes.lines():
        say(remark)
    return result


def reports_for(
    options: Options, names: Names, lines: int, normalise: Callable[[str], str] = str
) -> list[Report]:
    """The reports that need no model, of so many lines; `normalise` as `Compared` takes it."""
    reports: list[Report] = [Intervals(names) if options.confidence else Scores(names)]
    if options.by_length:
        reports.append(ByLength(names, options.bounds))
    if options.compare is not None:
        system = open_system(options.compare, lines, options.batch_size)
        reports.append(Compared(options.compare, system, normalise, names))
    if options.sentences:
        reports.append(Sentences(names))
    return reports


def model_reports_for(
    options: Options, translator: Translator, search: Spec[Search], pairs: Sequence[Pair], names: Names
) -> list[ModelReport]:
    """The reports that need the model and its search."""
    reports: list[ModelReport] = []
    if options.errors:
        reports.append(SearchErrors(translator, search.build(), pairs, options.batch_size))
    if options.gold_alignments is not None:
        gold, threshold = read_gold(options.gold_alignments, pairs), options.alignment_threshold
        reports.append(AlignmentErrors(translator, pairs, gold, threshold, options.batch_size))
    if options.check_batching:
        reports.append(Batching(translator, search.build(), pairs))
    if options.int8:
        reports.append(Quantised(translator, search.build(), pairs, names, options.batch_size))
    return reports
