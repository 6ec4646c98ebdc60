"""Scores of single sentences, for looking at outputs one by one."""

from collections.abc import Sequence

from transduce.config import Spec
from transduce.metrics.base import Metric, Score, Split, split_words, to_spec
from transduce.metrics.references import References, accepted


def sentence_scores(
    name: str | Spec[Metric],
    hypotheses: Sequence[str],
    references: References,
    tokenize: Split = split_words,
) -> list[Score]:
    """Each line scored as if it were a corpus of its own, labelled `level:sentence` in the signature.

    BLEU counts only the n-gram orders a sentence has (`effective_order`), smoothed as its options say.
    The mean of these is not the score of the corpus, whose counts are summed before dividing; only
    exact match is the same.
    Raises DataError as `check_lengths` does, ConfigError for a name that no metric has.
    """
    answers = accepted(hypotheses, references)
    spec = to_spec(name)
    options = {**spec.options, **Metric.family[spec.name].sentence_options}
    metric = Spec(Metric, spec.name, options).build(tokenize)
    statistics = metric.statistics(hypotheses, answers)
    each = (slice(line, line + 1) for line in range(len(answers)))
    return [metric.score(statistics[line], answers[line], "sentence") for line in each]
