"""Progress of training on stderr: a bar for a terminal, a line for each validation elsewhere."""

from contextlib import suppress
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from transduce.cli.streams import LEADS
from transduce.training.loop import Event, Plan, Step, Validation


class Stderr(Console):
    """Standard error, which nobody need read to the end: then it is quiet, where rich would exit."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


class Progress:
    """Watches training events; `say` prints a line above the bar."""

    def __init__(self, quiet: bool) -> None:
        quiet = quiet or not LEADS
        self.console = Stderr(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
        columns = (
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[loss]}"),
        )
        shown = self.console.is_terminal and not quiet
        self.bar = Bar(
            *columns, TimeRemainingColumn(), console=self.console, transient=True, disable=not shown
        )
        self.task = self.bar.add_task("training", total=None, loss="")

    def __enter__(self) -> "Progress":
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # the terminal may have gone, and training not
            self.bar.stop()

    def say(self, line: str) -> None:
        with suppress(OSError):
            self.console.print(f"transduce: {line}", markup=False)

    def watch(self, event: Event, plan: Plan) -> None:
        if isinstance(event, Step):
            self.bar.update(
                self.task, completed=event.update, total=plan.updates, loss=f"loss {event.loss:.3f}"
            )
        elif isinstance(event, Validation):
            value = event.scores[plan.select]
            best = "  best so far" if event.improved else ""
            self.say(
                f"update {event.update:>6}  epoch {event.epoch:>4}  dev loss {event.scores['loss']:.4f}  "
                f"dev {plan.select} {value:.4f}{best}"
            )
