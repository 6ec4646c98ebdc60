"""`transduce demo`."""

from pathlib import Path

EXAMPLES = ("12 March 2021", "శుక్రవారం, 15 ఆగస్టు 1947", "Sat, 1 Jan 2000", "29 ఫిబ్రవరి 2024")
SHOWN = "15 August 1947"


def demo(*, run: Path = Path("runs/demo"), overwrite: bool = False, quiet: bool = False) -> None:
    """Trains a small model that reads dates in English and Telugu, and shows what it attends to.

    Parameters
    ----------
    run
        Folder for the model.
    overwrite
        Begins anew where the folder holds a run already.
    quiet
        Says nothing on stderr but errors.
    """
    from rich.console import Console

    from transduce.cli.progress import Progress
    from transduce.experiment import load_experiment
    from transduce.run import evaluate, train_run
    from transduce.viewer.svg import heatmap_svg
    from transduce.viewer.terminal import heatmap

    experiment = load_experiment("dates", ("name=demo",))
    with Progress(quiet) as progress:
        progress.say("training a model from nothing: human-written dates in English and Telugu to ISO 8601")
        translator = train_run(experiment, run, overwrite=overwrite, say=progress.say, watch=progress.watch)
        progress.say("training is done; reading dates that it has never seen")
    result = evaluate(translator)
    exact = result["metrics"]["exact_match"]
    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"{result['examples']} unseen dates: {exact['value']:.2%} exactly right  ({exact['signature']})\n"
    )
    for translation in translator.translate(list(EXAMPLES), attention=False):
        console.print(f"  {translation.source}  →  {translation.text}", markup=False)
    console.print("\nWhere it looked while it wrote each symbol (rows: output, columns: input):\n")
    shown = translator.translate(SHOWN)
    console.print(heatmap(shown))
    picture = run / "attention.svg"
    picture.write_text(heatmap_svg(shown), encoding="utf-8")
    console.print(f"\nThe same as a picture: {picture}")
    console.print(f"\nNext:\n{next_commands(run)}", markup=False)


def next_commands(run: Path) -> str:
    return "\n".join(
        (
            f"  echo '3 July 1999' | transduce translate {run}",
            f"  transduce evaluate {run} --beam 5",
            "  transduce train g2p data.train=YOUR.tsv      # your own pairs: source TAB target",
        )
    )
