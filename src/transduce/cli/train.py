"""`transduce train`."""

from pathlib import Path


def train(
    config: str,
    /,
    *overrides: str,
    run: Path | None = None,
    overwrite: bool = False,
    device: str = "auto",
    verify_resume: bool = False,
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
    device
        auto, cpu, cuda or mps. Under torchrun each process takes a card of its own.
    verify_resume
        Trains nothing that lasts: proves in 2 × 20 updates that this experiment, stopped and resumed on
        this machine, is bit for bit the one that was not.
    quiet
        Says nothing on stderr but errors.
    """
    from transduce.cli.progress import Progress
    from transduce.experiment import load_experiment
    from transduce.run import train_run
    from transduce.run.verify import verify_resume as verified

    experiment = load_experiment(config, overrides)
    folder = run or Path("runs") / experiment.name
    with Progress(quiet) as progress:
        if verify_resume:
            print(verified(experiment, device=device, say=progress.say))
            return
        options = {"overwrite": overwrite, "device": device}
        train_run(experiment, folder, **options, say=progress.say, watch=progress.watch)
    progress.say(f"the model is in {folder}; try: transduce translate {folder}")
