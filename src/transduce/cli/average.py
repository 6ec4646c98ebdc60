"""`transduce average`."""

from pathlib import Path

from transduce.cli.streams import note, silent
from transduce.errors import ConfigError


def average(*runs: Path, out: Path, last: int | None = None, quiet: bool = False) -> None:
    """Makes one run of several: every parameter is the mean of theirs.

    Parameters
    ----------
    runs
        Run folders of one model configuration and the same vocabularies, trained apart or one from another.
    out
        Folder for the new run; it must be new or empty.
    last
        Averages the last saves of one run instead, so many of them: see `train.keep_saves`.
    quiet
        Says nothing on stderr but errors.
    """
    if last is not None and len(runs) != 1:
        raise ConfigError(f"--last {last}: expected one run, whose saves are averaged; got {len(runs)}")
    from transduce.run.average import average_runs, average_saves

    if last is None:
        average_runs(runs, out)
    else:
        average_saves(runs[0], last, out)
    say = silent if quiet else note
    say(f"averaged {last or len(runs)} models into {out}; score it with: transduce evaluate {out}")
