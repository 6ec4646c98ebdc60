"""One tiny trained run, and the command line called in this process."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

WORDS = ("one", "ఒకటి", "క్షి", "2")


class Done(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        assert self.out == "" or self.out.endswith("\n")
        return self.out.split("\n")[:-1]


Command = Callable[..., Done]


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """A run that turns sequences of up to three words round; dev.tsv and test.tsv lie beside it."""
    from tests.tiny import settings
    from transduce.experiment import load_experiment
    from transduce.run import train_run

    home = tmp_path_factory.mktemp("cli")
    texts = [" ".join(words) for length in (1, 2, 3) for words in itertools.product(WORDS, repeat=length)]
    parts = {"train": texts, "dev": texts[::7], "test": texts[3::11]}
    for part, sources in parts.items():
        rows = (f"{source}\t{' '.join(source.split(' ')[::-1])}\n" for source in sources)
        (home / f"{part}.tsv").write_text("".join(rows), encoding="utf-8")
    paths = [f"data.{part}={home / part}.tsv" for part in parts]
    tree = settings(*paths, "train.updates=60", "train.validate_every=30", "search.width=3")
    tree["model"] = {side: {"width": 16, "dropout": 0.0} for side in ("encoder", "decoder")}
    train_run(load_experiment(tree), home / "run")
    return home / "run"


@pytest.fixture
def command(capsys) -> Command:
    """Runs a command line; `Done` holds its exit code, stdout and stderr."""
    from transduce.cli.app import main

    def call(*arguments: object) -> Done:
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Done(caught.value.code, out, err)

    return call


@pytest.fixture
def stdin(tmp_path, monkeypatch) -> Iterator[Callable[[str], None]]:
    """Gives the commands this text to read."""
    with contextlib.ExitStack() as opened:

        def give(text: str) -> None:
            path = tmp_path / "stdin"
            path.write_text(text, encoding="utf-8", newline="")
            monkeypatch.setattr("sys.stdin", opened.enter_context(open(path, encoding="utf-8")))

        yield give
