"""Metrics as users name them."""

import pytest

from transduce.config import Spec
from transduce.errors import ConfigError
from transduce.metrics import Metric, measure
from transduce.metrics.chosen import parse_metrics


def test_names_and_options() -> None:
    assert [spec.name for spec in parse_metrics("bleu")] == ["bleu"]
    chosen = parse_metrics("wer, {name: chrf, word_order: 2},bleu")
    assert [spec.name for spec in chosen] == ["wer", "chrf", "bleu"]
    assert chosen[1] == Spec(Metric, "chrf", {"word_order": 2})
    assert "nw:2" in measure(chosen, ["a"], ["a"])["chrf"].signature


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("blue", "unknown metric 'blue'; did you mean 'bleu'"),
        ("bleu,cerr", "unknown metric 'cerr'; did you mean 'cer'"),
        ("{name: chrf, word_ordre: 2}", "unknown key 'word_ordre'; did you mean 'word_order'"),
        ("", "at least one metric"),
        ("bleu,bleu", "each once"),
        ("bleu,{name: bleu, lowercase: true}", "each once"),
        ("bleu]", "expected YAML"),
        ("3", "unknown metric '3'"),
    ],
)
def test_what_cannot_be_measured_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=r"^metrics '") as caught:
        parse_metrics(text)
    assert message in str(caught.value)
