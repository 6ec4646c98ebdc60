"""Metrics as a user names them."""

from transduce.config import Settings, Spec, parse_yaml, validate
from transduce.errors import ConfigError
from transduce.metrics.base import Metric


class _Chosen(Settings):
    metrics: list[Spec[Metric]]


def parse_metrics(text: str) -> list[Spec[Metric]]:
    """Metrics by name, parted by commas, some with options: `bleu,{name: chrf, word_order: 2}`.

    Raises ConfigError for what no metric is called or can do, for none, and for one twice.
    """
    where = f"metrics {text!r}"
    chosen = validate(_Chosen, {"metrics": parse_yaml(f"[{text}]", where)}, where).metrics
    names = [spec.name for spec in chosen]
    if not names or len(set(names)) < len(names):
        raise ConfigError(f"{where}: expected at least one metric, each once")
    return chosen
