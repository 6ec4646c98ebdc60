"""The command table, and how errors leave the program."""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from io import TextIOWrapper

from cyclopts import App, CycloptsError, Parameter

from transduce.cli.streams import LEADS
from transduce.data.lines import STDIN
from transduce.errors import ConfigError, Interrupted, ModelError, TrainingError, TransduceError

app = App(
    name="transduce",
    help="Sequence-to-sequence models with attention, trained on your own pairs, that you can look inside.",
    version=lambda: version("transduce"),
    default_parameter=Parameter(negative=""),
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # `run` says what has become of it
)
COMMANDS = {
    "demo": "Train a small model from nothing, translate, and show the attention.",
    "train": "Train a model on pairs; the same command again goes on where it stopped.",
    "translate": "Translate lines, from a file or as you type them.",
    "evaluate": "Decode test data and score it.",
    "export": "Write a trained model as ONNX graphs.",
    "score": "Print the log-probability of given pairs.",
    "inspect": "Look through a file of pairs for what would hurt a model.",
    "average": "Make one model of several, or of the last saves of one run.",
    "recipes": "List the recipes, or print one.",
    "info": "Say which versions and components are installed.",
}
CODES: dict[type[BaseException], int] = {
    CycloptsError: 2,
    TransduceError: 2,
    TrainingError: 1,
    ModelError: 1,
    Interrupted: 128,  # and its signal
    KeyboardInterrupt: 128 + signal.SIGINT,
    BrokenPipeError: 128 + signal.SIGPIPE,  # the reader of our output has gone, as `head` does
    OSError: 1,
    MemoryError: 1,
}
WRITTEN = ("--alignments", "--out", "--run", "--fix")  # options that name what is written
TEXTS = ("--without",)  # options whose value is text
for _order, (_name, _help) in enumerate(COMMANDS.items()):
    app.command(f"transduce.cli.{_name}:{_name}", name=_name, help=_help, sort_key=_order)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command line and exits: 0, 1 failure, 2 usage or data, 129/130/143 stopped by a signal."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    if not LEADS:  # of several processes, the first alone gives results
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):  # whatever the locale: what is written is any script's
        sys.stdout.reconfigure(encoding="utf-8")
    try:
        app(named(arguments), exit_on_error=False, print_error=False, result_action="return_value")
        if sys.stdout is not None:
            sys.stdout.flush()
    except tuple(CODES) as error:
        return end(error)
    return 0


def end(error: BaseException) -> int:
    """Says what is to be said of an error; the exit status for it."""
    if isinstance(error, OSError) and sys.stdout is not None:
        with suppress(OSError):  # what standard output still holds would fail once more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    code = next(code for kind, code in CODES.items() if isinstance(error, kind))
    if isinstance(error, Interrupted):
        code = 128 + error.signal
    if not isinstance(error, BrokenPipeError):
        complain(said(error))
    return code


def said(error: BaseException) -> str:
    """The words of an error."""
    if isinstance(error, KeyboardInterrupt):
        return "stopped"
    if isinstance(error, MemoryError):
        return "there is not enough memory for that; a smaller --batch-size takes less"
    if isinstance(error, OSError):
        return f"{error.filename or 'output'}: {error.strerror or error}"
    return str(error)


def named(arguments: Sequence[str]) -> list[str]:
    """A dash as the name of standard input, since it would be an option; some options take it as text."""
    found: list[str] = []
    for argument in arguments:
        before = found[-1] if found else ""
        if argument != "-":
            found.append(argument)
        elif before in WRITTEN:
            raise ConfigError(f"{before}: expected a path to write to; got '-', which is standard input")
        elif before in TEXTS:
            found[-1] = f"{before}=-"
        else:
            found.append(STDIN)
    return found


def complain(message: str) -> None:
    with suppress(BrokenPipeError):
        print(f"transduce: {' '.join(message.split())}", file=sys.stderr, flush=True)
