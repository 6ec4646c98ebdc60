"""The command table, and how errors leave the program."""

import os
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError, Parameter

from transduce.data.lines import STDIN
from transduce.errors import Interrupted, ModelError, TrainingError, TransduceError

app = App(
    name="transduce",
    help="Sequence-to-sequence models with attention, trained on your own pairs, that you can look inside.",
    version=lambda: version("transduce"),
    default_parameter=Parameter(negative=""),
    help_format="plaintext",
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
for _order, (_name, _help) in enumerate(COMMANDS.items()):
    app.command(f"transduce.cli.{_name}:{_name}", name=_name, help=_help, sort_key=_order)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command line and exits: 0, 1 failure, 2 usage or data, 130/143 stopped by a signal."""
    arguments = sys.argv[1:] if arguments is None else arguments
    named = [STDIN if argument == "-" else argument for argument in arguments]  # a dash would be an option
    sys.exit(run(named))


def run(arguments: list[str]) -> int:
    if os.environ.get("RANK", "0") != "0":  # of several processes, the first alone gives results
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except (CycloptsError, TransduceError) as error:
        return complain(str(error), 2)
    except (TrainingError, ModelError) as error:
        return complain(str(error), 1)
    except Interrupted as error:
        return complain(str(error), 128 + error.signal)
    except KeyboardInterrupt:
        return complain("stopped", 128 + signal.SIGINT)
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return 0


def complain(message: str, code: int) -> int:
    print(f"transduce: {' '.join(message.split())}", file=sys.stderr)
    return code
