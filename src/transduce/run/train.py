"""Training over a run folder: begin or go on, log, save, keep the best."""

from collections.abc import Callable
from pathlib import Path

import torch

from transduce.devices import settle_threads
from transduce.errors import CheckpointError, Interrupted
from transduce.experiment import Experiment, TrainSettings
from transduce.metrics import Metric
from transduce.run.card import write_card
from transduce.run.corpus import Corpus, Say, TrainingBatches
from transduce.run.evaluate import Validator
from transduce.run.folder import Log, prepare
from transduce.run.signals import StopRequest
from transduce.tokenizers import Tokenizer, load_tokenizer
from transduce.training.checkpoint import load_model, resume, save_model, save_state
from transduce.training.loop import Event, Plan, Report, Save, Validation, train
from transduce.training.state import TrainState
from transduce.translator import Translator

BEST = "model.safetensors"


def train_run(
    experiment: Experiment,
    folder: str | Path,
    *,
    overwrite: bool = False,
    say: Say = lambda line: None,
    watch: Callable[[Event, Plan], None] = lambda event, plan: None,
) -> Translator:
    """Trains in `folder`, or goes on where it stopped; returns the best model.

    `say` is given lines for the user, `watch` every event. Raises ConfigError, DataError, CheckpointError
    for what a user can mend, and Interrupted after Ctrl-C or SIGTERM.
    """
    folder = Path(folder)
    going_on = prepare(folder, experiment, say, overwrite=overwrite)
    corpus = Corpus(experiment, say)
    source, target = load_tokenizers(folder) if going_on else corpus.fit_tokenizers()
    torch.manual_seed(experiment.seed)
    model = experiment.model.build(source.vocab_size, target.vocab_size)
    settle_threads(model)
    translator = Translator(experiment, source, target, model)
    session = Session(folder, translator, corpus, say)
    session.run(watch)
    if (folder / BEST).is_file():
        load_model(folder / BEST, model)
    else:  # it ended before the first validation: the last model is the only one
        save_model(folder / BEST, model)
    write_card(folder, translator, corpus, session.state)
    model.eval()
    return translator


def load_tokenizers(folder: Path) -> tuple[Tokenizer, Tokenizer]:
    return load_tokenizer(folder / "tokenizer.source.json"), load_tokenizer(folder / "tokenizer.target.json")


class Session:
    """One sitting of a training run: consumes the loop's events."""

    def __init__(self, folder: Path, translator: Translator, corpus: Corpus, say: Say) -> None:
        self.folder, self.translator, self.say = folder, translator, say
        self.model, self.settings = translator.model, translator.experiment.train
        self.optimizer = self.settings.optimizer.build().build(self.model.parameters())
        tokenizers = translator.source_tokenizer, translator.target_tokenizer
        self.batches = TrainingBatches(corpus, *tokenizers, say)
        self.plan = make_plan(self.settings, self.batches.per_epoch)
        translator.save_settings(folder)  # not before everything could be built from them
        found = resume(folder / "state", self.model, self.optimizer, say)
        if found:
            say(f"going on from update {found.update} of {folder}")
        self.state = found or TrainState()
        self.state.finished = self.state.update >= self.plan.updates or (
            0 < self.settings.patience <= self.state.bad_validations
        )
        self.validator = Validator(translator, corpus.dev)
        self.log = Log(folder / "metrics.jsonl", self.state.update)

    def run(self, watch: Callable[[Event, Plan], None]) -> None:
        with StopRequest() as stop:
            for event in train(
                self.model,
                self.optimizer,
                self.batches,
                self.validator,
                self.settings,
                self.plan,
                self.state,
                stop,
            ):
                self.keep(event)
                watch(event, self.plan)
        if self.state.skipped:
            self.say(f"{self.state.skipped} batches had no target token and were skipped")
        if stop.received is not None and not self.state.finished:
            message = f"stopped at update {self.state.update}, saved in {self.folder}"
            raise Interrupted(stop.received, f"{message}; the same command goes on from there")

    def keep(self, event: Event) -> None:
        """Writes what an event asks for."""
        try:
            if isinstance(event, Report):
                self.log.write("report", event._asdict())
            elif isinstance(event, Validation):
                search = self.settings.validation_search.plain()
                self.log.write("validation", {**event._asdict(), "search": search})
                if event.improved:
                    save_model(self.folder / BEST, self.model)
            elif isinstance(event, Save):
                save_state(self.folder / "state", self.model, self.optimizer, self.state)
        except OSError as error:
            raise CheckpointError(
                f"{error.filename or self.folder}: cannot be written ({error.strerror}); "
                f"the last save in {self.folder / 'state'} is whole"
            ) from None


def make_plan(settings: TrainSettings, per_epoch: int) -> Plan:
    """Fills in every `auto`."""
    updates = max(3000, 20 * per_epoch) if settings.updates == "auto" else settings.updates
    every = min(max(per_epoch, 100), 1000) if settings.validate_every == "auto" else settings.validate_every
    save_every = every if settings.save_every == "auto" else settings.save_every
    higher = settings.select != "loss" and Metric.family[settings.select].higher_is_better
    return Plan(updates, every, save_every, settings.log_every, per_epoch, settings.select, higher)
