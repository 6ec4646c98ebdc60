"""Small random models and translators for tests of search."""

from typing import Any

import torch

from tests.helpers import doubled
from transduce.config import validate
from transduce.experiment import Experiment
from transduce.model import Seq2Seq
from transduce.search import Decoded
from transduce.translation import END, Translation
from transduce.translator import Translator
from transduce.types import BOS, EOS, SPECIALS, Source, select

MODELS: dict[str, dict[str, Any]] = {
    "gru+additive": {
        "encoder": {"width": 5, "dropout": 0.0},
        "decoder": {"width": 6, "dropout": 0.0, "attention": {"name": "additive", "units": 7}},
    },
    "lstm+dot": {
        "encoder": {"cell": "lstm", "width": 3, "dropout": 0.0},
        "decoder": {"cell": "lstm", "width": 6, "attend": "after", "dropout": 0.0, "attention": "dot"},
    },
    "gru+multihead": {
        "encoder": {"width": 5, "layers": 2, "dropout": 0.0},
        "decoder": {
            "width": 6,
            "layers": 2,
            "attend": "after",
            "input_feeding": False,
            "dropout": 0.0,
            "attention": {"name": "multihead", "heads": 2},
        },
    },
}
LETTERS = "abcdefg"


def sharpen(model: Seq2Seq, ending: float) -> Seq2Seq:
    """Makes next tokens likelier and unlikelier, so that outputs differ, and ends as likely as asked."""
    output: Any = model.decoder.get_submodule("output")
    with torch.no_grad():
        output.weight.mul_(4.0)
        output.bias[EOS] += ending
    return model


def experiment(name: str) -> Experiment:
    tree = {"data": {"train": "never read.tsv"}, "model": MODELS[name], "tokenizer": {"target": "word"}}
    return validate(Experiment, tree, "test")


def seq2seq(name: str, seed: int, vocab: int = 8, ending: float = 0.0) -> Seq2Seq:
    """A random model in float64."""
    torch.manual_seed(seed)
    return sharpen(doubled(experiment(name).model.build(vocab, vocab), seed), ending)


def translator(name: str, seed: int, dtype: torch.dtype, ending: float = 0.0) -> Translator:
    """A random model between a character and a word tokenizer, which keeps every output apart."""
    settings = experiment(name)
    source, target = settings.tokenizer.source.build(), settings.tokenizer.target.build()
    source.fit([LETTERS])
    target.fit([" ".join(LETTERS)])
    torch.manual_seed(seed)
    model = doubled(settings.model.build(source.vocab_size, target.vocab_size), seed)
    return Translator(settings, source, target, sharpen(model, ending).to(dtype))


def next_token(model: Seq2Seq, source: Source, row: int, prefix: list[int]) -> list[float]:
    """log P(· | prefix) by teacher forcing."""
    sentence: Any = select(source, torch.tensor([row]))
    with torch.no_grad():
        return model(sentence, torch.tensor([[BOS, *prefix]])).log_probs[0, -1].tolist()


def forced(model: Seq2Seq, source: Source, row: int, ids: list[int]) -> list[float]:
    """log P of each of these ids after the ones before it, by teacher forcing."""
    sentence: Any = select(source, torch.tensor([row]))
    with torch.no_grad():
        log_probs = model(sentence, torch.tensor([[BOS, *ids[:-1]]])).log_probs[0].double()
    return log_probs[torch.arange(len(ids)), torch.tensor(ids, dtype=torch.long)].tolist()


def generated(out: Decoded, row: int, n: int) -> list[int]:
    """The ids of one result, EOS in where it is finished."""
    return out.tokens[row, n, : out.length[row, n]].tolist() + [EOS] * int(out.finished[row, n])


def target_ids(tokens: list[str]) -> list[int]:
    """The ids of a translation's tokens, by the fitted word tokenizer of `translator`."""
    known = {letter: SPECIALS + index for index, letter in enumerate(LETTERS)}
    return [{END: EOS, "<unk>": 1}.get(token) or known[token] for token in tokens]


def everyone(results: list[Translation]) -> list[Translation]:
    """Every hypothesis: the n best of each, or the one where only that was asked for."""
    return [best for result in results for best in result.n_best or [result]]
