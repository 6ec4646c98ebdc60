"""Training over a run folder: begin or go on, log, save, keep the best."""

import contextlib
import math
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from transduce.devices import choose_device, settle_threads
from transduce.errors import CheckpointError, Interrupted
from transduce.experiment import Experiment, TrainSettings
from transduce.metrics import Metric
from transduce.run.card import write_card
from transduce.run.corpus import Corpus, Say
from transduce.run.evaluate import Validator
from transduce.run.folder import (
    CACHE,
    MODEL,
    STATE,
    Log,
    check_saves_not_lost,
    claimed,
    clear,
    compare_data,
    prepare,
)
from transduce.run.pretrained import (
    load_tokenizers,
    start_from_run,
    start_from_vectors,
    tokenizers_from_run,
)
from transduce.run.signals import StopRequest
from transduce.run.training_data import TrainingBatches
from transduce.tokenizers import Tokenizer
from transduce.training.averaging import MovingAverage
from transduce.training.checkpoint import Training, load_model, resume, save_model, save_state, saves
from transduce.training.distributed import Team, join
from transduce.training.guidance import check_guidance
from transduce.training.loop import Event, Plan, Report, Save, Step, Validation, is_over, train
from transduce.training.state import TrainState
from transduce.training.trackers import Tracker
from transduce.translator import Translator

TRACKED = ("loss", "teacher_forced_accuracy", "gradient_norm", "lr", "tokens_per_second", "memory")


def train_run(
    experiment: Experiment,
    folder: str | Path,
    *,
    overwrite: bool = False,
    device: str = "auto",
    say: Say = lambda line: None,
    watch: Callable[[Event, Plan], None] = lambda event, plan: None,
) -> Translator:
    """Trains in `folder`, or goes on where it stopped; returns the best model.

    `say` is given lines for the user, `watch` every event. Under torchrun each process takes a share of
    every batch, and the first alone writes and talks. Raises ConfigError, DataError, CheckpointError for
    what a user can mend, and Interrupted after Ctrl-C, SIGTERM or SIGHUP.
    """
    folder, place = Path(folder), choose_device(device)
    team = join(place.type)
    say = say if team.leads else silent
    with claimed(folder) if team.leads else contextlib.nullcontext():
        going_on = team.from_leader(lambda: prepare(folder, experiment, say, overwrite=overwrite))
        corpus = Corpus(experiment, say)
        source, target = find_tokenizers(experiment, folder, corpus, going_on=going_on)
        torch.manual_seed(experiment.seed)
        model = experiment.model.build(source.vocab_size, target.vocab_size).to(place)
        check_guidance(model, experiment.train.guided_attention)
        settle_threads(model)
        translator = Translator(experiment, source, target, model)
        session = Session(folder, translator, corpus, team, say, going_on=going_on)
        session.run(watch if team.leads else lambda event, plan: None)
        session.finish()
    return translator


def silent(line: str) -> None:
    """What the other processes of a team say."""


def find_tokenizers(
    experiment: Experiment, folder: Path, corpus: Corpus, *, going_on: bool
) -> tuple[Tokenizer, Tokenizer]:
    """Those of the run, of the run that it starts from, or freshly fitted ones."""
    if going_on:
        return load_tokenizers(folder)
    if experiment.train.start_from is not None:
        return tokenizers_from_run(experiment, experiment.train.start_from, corpus)
    return corpus.fit_tokenizers()


class Session:
    """One sitting of a training run: consumes the loop's events."""

    def __init__(
        self, folder: Path, translator: Translator, corpus: Corpus, team: Team, say: Say, *, going_on: bool
    ) -> None:
        self.folder, self.translator, self.team, self.say = folder, translator, team, say
        (self.model,), self.settings = translator.model.members, translator.experiment.train
        optimizer = self.settings.optimizer.build().build(self.model.parameters())
        tokenizers = translator.source_tokenizer, translator.target_tokenizer
        self.batches = team.in_turn(lambda: TrainingBatches(corpus, *tokenizers, folder / CACHE))
        self.plan = make_plan(self.settings, self.batches.per_epoch)
        decay = self.settings.moving_average
        average = None if decay is None else MovingAverage(self.model, decay)
        self.training = Training(self.model, optimizer, average, team)
        self.state = (self._resume() if going_on else None) or self._begin()
        self.state.finished = is_over(self.plan, self.settings, self.state)
        self.validator = Validator(translator, corpus.dev)
        self.clock = Clock(self.state.tokens)
        self.trackers = self._trackers() if team.leads else []
        self.log = self._settle(going_on) if team.leads else None

    def _settle(self, going_on: bool) -> Log:
        """Makes the folder that of this run, now that nothing can be wrong any more; its log."""
        folder = self.folder
        if not going_on:
            clear(folder)
        self.translator.save_settings(folder)
        compare_data(folder, self.batches.digest, len(self.batches.index), self.say)
        (folder / STATE).mkdir(exist_ok=True)
        return Log(folder / "metrics.jsonl", self.state.update)

    def _trackers(self) -> list[Tracker]:
        experiment = self.translator.experiment
        wiring = self.folder, experiment.name, experiment.model_dump()
        return [spec.build(*wiring) for spec in self.settings.track]

    def _resume(self) -> TrainState | None:
        found = resume(self.folder / STATE, self.training, self.say)
        if found:
            self.say(f"going on from update {found.update} of {self.folder}")
        else:
            check_saves_not_lost(self.folder)
        return found

    def _begin(self) -> TrainState:
        """The state of a run at its start, and parameters from elsewhere where that is wished."""
        settings, model = self.settings, self.model
        if settings.start_from is not None:
            start_from_run(self.translator, settings.start_from, self.say)
        sides = (
            ("source", model.encoder.embedding, self.translator.source_tokenizer, settings.source_embeddings),
            ("target", model.decoder.embedding, self.translator.target_tokenizer, settings.target_embeddings),
        )
        for side, embedding, tokenizer, path in sides:
            if path is not None:
                start_from_vectors(embedding, tokenizer, path, side, self.say)
        if self.training.average:
            self.training.average.restart(model)
        if self.team.rank:  # each process drops other units; the model itself was drawn alike by all
            torch.manual_seed(self.translator.experiment.seed + self.team.rank)
        return TrainState()

    def run(self, watch: Callable[[Event, Plan], None]) -> None:
        with StopRequest() as stop, contextlib.ExitStack() as ending:
            for tracker in self.trackers:
                ending.callback(tracker.close)
            for event in train(
                self.model,
                self.training.optimizer,
                self.batches,
                lambda: self.team.from_leader(lambda: self.validator(stop)),
                self.settings,
                self.plan,
                self.state,
                stop,
                average=self.training.average,
                team=self.team,
            ):
                self.keep(event)
                try:
                    watch(event, self.plan)
                except OSError:  # nobody can be told any more: no reason not to save
                    if not stop.hung_up:
                        raise
        if self.state.skipped:
            self.say(f"{self.state.skipped} updates had no target token and were skipped")
        if not self.state.finished:
            message = f"stopped at update {self.state.update}, saved in {self.folder}"
            number = stop.received or signal.SIGTERM  # which another process of the team was given
            raise Interrupted(number, f"{message}; the same command goes on from there")

    def finish(self) -> None:
        """Gives the translator the best model, and writes the card."""
        self.team.from_leader(self._ensure_best)  # who waits here waits for the file
        load_model(self.folder / MODEL, self.model)
        self.model.eval()
        if self.team.leads:
            write_card(self.folder, self.translator, self.batches, self.state)
            shutil.rmtree(self.folder / CACHE, ignore_errors=True)

    def _ensure_best(self) -> None:
        """Takes the last model for the best where training ended before the first validation."""
        if not (self.folder / MODEL).is_file():
            save_model(self.folder / MODEL, self.model)

    def keep(self, event: Event) -> None:
        """Writes what an event asks for."""
        try:
            if isinstance(event, Save):
                save_state(self.folder / STATE, self.training, self.state, self.settings.keep_saves)
            elif self.log is not None:
                self._write(self.log, event)
        except OSError as error:
            raise CheckpointError(
                f"{error.filename or self.folder}: cannot be written ({error.strerror}); {self._last_save()}"
            ) from None

    def _last_save(self) -> str:
        found = saves(self.folder / STATE)
        return f"the last save, {found[0]}, is whole" if found else "nothing has been saved yet"

    def _write(self, log: Log, event: Event) -> None:
        if isinstance(event, Report):
            values = {**event._asdict(), **self.clock.since(event.tokens)}
            log.write("report", values)
            self.track(event.update, "train", {name: values[name] for name in TRACKED})
        elif isinstance(event, Validation):
            search = self.settings.validation_search.plain()
            log.write("validation", {**event._asdict(), "search": search})
            self.track(event.update, "dev", event.scores)
            if event.improved:
                save_model(self.folder / MODEL, self.model)
        elif isinstance(event, Step) and event.parts > self.settings.accumulate:
            log.write("halved", {"update": event.update, "parts": event.parts})
            hint = "train.batch_pairs or train.batch_tokens could be smaller"
            self.say(f"update {event.update}: too large for memory, made in {event.parts} parts; {hint}")

    def track(self, update: int, part: str, values: Mapping[str, float]) -> None:
        for tracker in self.trackers:
            tracker.log(update, {f"{part}/{name}": value for name, value in values.items()})


class Clock:
    """How fast training goes and what it takes: what no two runs share."""

    def __init__(self, counted: int) -> None:
        self.start, self.counted = time.perf_counter(), counted  # tokens of before this sitting

    def since(self, tokens: int) -> dict[str, Any]:
        """Seconds and target tokens a second since the last call, and the greatest memory so far (MB)."""
        now = time.perf_counter()
        seconds, tokens = now - self.start, tokens - self.counted
        self.start, self.counted = now, 0
        unit = 1 if sys.platform == "darwin" else 1024  # bytes or kilobytes
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        speed = round(tokens / seconds) if seconds else None
        return {"seconds": round(seconds, 3), "tokens_per_second": speed, "memory": round(memory / 1e6)}


def make_plan(settings: TrainSettings, per_epoch: int) -> Plan:
    """Fills in every `auto`, in updates of `accumulate` batches each."""
    batches, per_epoch = per_epoch, math.ceil(per_epoch / settings.accumulate)
    updates = max(3000, 20 * per_epoch) if settings.updates == "auto" else settings.updates
    every = min(max(per_epoch, 100), 1000) if settings.validate_every == "auto" else settings.validate_every
    save_every = every if settings.save_every == "auto" else settings.save_every
    higher = settings.select != "loss" and Metric.family[settings.select].higher_is_better
    return Plan(updates, every, save_every, settings.log_every, batches, settings.select, higher)
