"""`transduce train`."""

from pathlib import Path


def train(
    config: str,
    /,
    *overrides: str,
    run: Path | None = None,
    overwrite: bool = False,
    quiet: bool = False,
) -> None:
    """Trains a model. The same command again goes on where it stopped.

    Parameters
    ----------
    config
        A YAML file, or the name of a recipe (see `transduce recipes`).
    overrides
        Settings as key.path=value, such as train.updates=5000 or data.train=my.tsv.
    run
        Folder for the model. Default: runs/NAME, after the configuration.
    overwrite
        Begins anew where the folder holds a run already.
    quiet
        Says nothing on stderr but errors.
    """
    from transduce.cli.progress import Progress
    from transduce.experiment import load_experiment
    from transduce.run import train_run

    experiment = load_experiment(config, overrides)
    folder = run or Path("runs") / experiment.name
    with Progress(quiet) as progress:
        train_run(experiment, folder, overwrite=overwrite, say=progress.say, watch=progress.watch)
    progress.say(f"the model is in {folder}; try: transduce translate {folder}")
