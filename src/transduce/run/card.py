"""The model card of a run: what it was trained on, how it scores, how to use it."""

import platform
from pathlib import Path

import torch

from transduce.files import write_file
from transduce.run.outputs import decode_pairs
from transduce.run.training_data import TrainingBatches
from transduce.training.state import TrainState
from transduce.translator import Translator


def write_card(folder: Path, translator: Translator, batches: TrainingBatches, state: TrainState) -> None:
    """Writes `README.md` into the run folder, with the best model's dev scores and their signatures."""
    search = translator.experiment.train.validation_search
    scores = decode_pairs(translator, batches.corpus.dev, search.build()).measure()
    signed = ((score, score.signature.replace("|", "\\|")) for score in scores.values())
    rows = "".join(f"| {score.name} | {score.value:.4g} | `{signature}` |\n" for score, signature in signed)
    parameters = sum(parameter.numel() for parameter in translator.model.parameters())
    text = f"""# {translator.experiment.name}

A sequence-to-sequence model with attention, trained with transduce.

- {len(batches.index):,} training pairs, {len(batches.corpus.dev):,} dev pairs; {parameters:,} parameters.
- Source vocabulary {translator.source_tokenizer.vocab_size:,}, target vocabulary \
{translator.target_tokenizer.vocab_size:,}.
- Best of {state.update:,} updates: update {state.best_update:,}, by {translator.experiment.train.select}.
- Data, as a digest of all files and of the vocabularies: `{batches.key}`.
- Made with Python {platform.python_version()} and torch {torch.__version__}. All settings: `config.yaml`.

Scores on the dev data, which chose the model (search: {search.plain()}):

| metric | value | signature |
|---|---|---|
{rows}
Use it: `transduce translate {folder.name}` reads lines and writes lines.
"""
    write_file(folder / "README.md", text.encode())
